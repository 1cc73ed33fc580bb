/**
 * How much text a piece of code reads and builds, counted and not timed: while a function runs, the
 * string methods that walk over text add up how many characters they walked over.
 *
 * @module
 */

/**
 * Runs a function and counts.
 *
 * @param run What to run; it must not wait.
 * @returns How many characters were searched, copied, joined, split or matched.
 */
export function countWork(run: () => void): number {
  let work = 0;
  const undo: (() => void)[] = [];
  const count = <T, A extends unknown[], R>(
    owner: object,
    name: string,
    original: (this: T, ...args: A) => R,
    cost: (self: T, args: A, result: R) => number,
  ): void => {
    const counted = function (this: T, ...args: A): R {
      const result = original.apply(this, args);
      work += cost(this, args, result);
      return result;
    };
    undo.push(() => Object.assign(owner, { [name]: original }));
    Object.assign(owner, { [name]: counted });
  };

  const found = (self: string, from: number, result: number): number =>
    result === -1 ? Math.max(self.length - from, 0) : result - from + 1;
  const text = String.prototype;
  count<string, [string, number?], number>(
    text,
    "indexOf",
    text.indexOf,
    (self, args, result) => found(self, args[1] ?? 0, result),
  );
  count<string, [string, number?], boolean>(text, "includes", text.includes, (self) => self.length);
  count<string, [number?, number?], string>(
    text,
    "slice",
    text.slice,
    (_self, _args, result) => result.length,
  );
  count<string, [number, number?], string>(
    text,
    "substring",
    text.substring,
    (_self, _args, result) => result.length,
  );
  count<string, [string | RegExp, number?], string[]>(
    text,
    "split",
    text.split as (this: string, by: string | RegExp, limit?: number) => string[],
    (self) => self.length,
  );
  count<string, [string | RegExp, string], string>(
    text,
    "replace",
    text.replace as (this: string, by: string | RegExp, to: string) => string,
    (self) => self.length,
  );
  count<unknown[], [string?], string>(
    Array.prototype,
    "join",
    Array.prototype.join,
    (_self, _args, result) => result.length,
  );
  count<RegExp, [string], RegExpExecArray | null>(
    RegExp.prototype,
    "exec",
    RegExp.prototype.exec,
    (_self, args) => args[0].length,
  );
  try {
    run();
  } finally {
    for (const restore of undo) restore();
  }
  return work;
}
