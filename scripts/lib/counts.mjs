// @ts-check
/**
 * How many tests a runner ran, read from the summary that it prints last.
 *
 * @module
 */

/**
 * @typedef {object} Counts
 * @property {number} passed How many passed.
 * @property {number} failed How many failed.
 * @property {number} skipped How many were skipped; they are in neither of the other two.
 */

/** @typedef {"deno" | "bun" | "node"} Runner */

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, "g");

/**
 * Reads a runner's summary.
 *
 * @param {Runner} runner Whose.
 * @param {string} output What the runner wrote, or the end of it.
 * @returns {Counts | undefined} The counts; `undefined` when there is no summary: the runner did not
 * come to its end.
 */
export function readCounts(runner, output) {
  const text = output.replace(ESCAPES, "");
  if (runner === "deno") return readDeno(text);
  return runner === "bun" ? readBun(text) : readNode(text);
}

/**
 * What a run counts as. It passed only when its summary says so **and** its exit code is 0.
 *
 * @param {Counts | undefined} counts The summary, if there was one.
 * @param {number} code The exit code.
 * @returns {Counts & { note: string }} The counts, at least one failure among them when anything is
 * wrong, and what is wrong.
 */
export function judge(counts, code) {
  if (counts === undefined) {
    return { passed: 0, failed: 1, skipped: 0, note: `no summary, exit code ${code}` };
  }
  if (counts.passed + counts.failed + counts.skipped === 0) {
    return { ...counts, failed: 1, note: "it ran no test" };
  }
  if (code !== 0 && counts.failed === 0) {
    return { ...counts, failed: 1, note: `exit code ${code}` };
  }
  return { ...counts, note: "" };
}

/** @param {string} text */
function readDeno(text) {
  // ok | 3 passed (2 steps) | 0 failed | 1 ignored (20ms)
  const line = text.match(/^(?:ok|FAILED) \| \d+ passed.*$/gm)?.at(-1);
  if (line === undefined) return undefined;
  return {
    passed: number(line, /(\d+) passed/),
    failed: number(line, /(\d+) failed/),
    skipped: number(line, /(\d+) ignored/),
  };
}

/** @param {string} text */
function readBun(text) {
  //  1 pass / 1 skip / 2 fail / Ran 4 tests across 2 files.
  if (!/^Ran \d+ tests? across/m.test(text)) return undefined;
  const end = text.slice(text.search(/^ *\d+ pass$(?![\s\S]*^ *\d+ pass$)/m));
  return {
    passed: number(end, /^ *(\d+) pass$/m),
    failed: number(end, /^ *(\d+) fail$/m),
    skipped: number(end, /^ *(\d+) skip$/m) + number(end, /^ *(\d+) todo$/m),
  };
}

/** @param {string} text */
function readNode(text) {
  // ℹ pass 1 / ℹ fail 2 / ℹ cancelled 0 / ℹ skipped 1 / ℹ todo 0
  if (!/^(?:ℹ|#) pass \d+$/m.test(text)) return undefined;
  // Node counts a file that registers no test, because its tests are another runtime's, as a test.
  const empty = text.match(/^✔ (?:\/|[A-Z]:\\).*[._]test\.ts \([\d.]+ms\)$/gm)?.length ?? 0;
  return {
    passed: number(text, /^(?:ℹ|#) pass (\d+)$/m) - empty,
    failed: number(text, /^(?:ℹ|#) fail (\d+)$/m) + number(text, /^(?:ℹ|#) cancelled (\d+)$/m),
    skipped: number(text, /^(?:ℹ|#) skipped (\d+)$/m) + number(text, /^(?:ℹ|#) todo (\d+)$/m),
  };
}

/**
 * @param {string} text
 * @param {RegExp} pattern
 */
function number(text, pattern) {
  return Number(text.match(pattern)?.[1] ?? 0);
}
