/**
 * A strict reader of the hub's bytes. It is not the library's parser, and it is not lenient as a
 * browser is: it takes the one form in which a hub may write each block, and refuses all others.
 *
 * @module
 */

/** One block of the stream, as it stood on the wire. */
export type Block =
  | { readonly kind: "retry"; readonly ms: number; readonly raw: string; readonly at: number }
  | { readonly kind: "comment"; readonly text: string; readonly raw: string; readonly at: number }
  | { readonly kind: "id"; readonly id: string; readonly raw: string; readonly at: number }
  | EventBlock;

/** A block with data: it dispatches an event. */
export interface EventBlock {
  readonly kind: "event";
  /** The `id:` line's value; `null` without one. */
  readonly id: string | null;
  /** The `event:` line's value; `""` without one. */
  readonly name: string;
  /** The `data:` lines, joined by LF. */
  readonly data: string;
  /** The block as it was written, without its blank line. */
  readonly raw: string;
  /** When it was complete, in milliseconds of `performance.now()`. */
  readonly at: number;
}

/** Bytes that no hub may write. */
export class WireError extends Error {
  override name = "WireError";
}

/** Splits a stream into blocks. */
export class BlockReader {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #onBlock: (block: Block) => void;
  #rest = "";
  #scanned = 0;

  /** @param onBlock Given each block, in order. */
  constructor(onBlock: (block: Block) => void) {
    this.#onBlock = onBlock;
  }

  /** The text of a block that has not ended. */
  get unfinished(): string {
    return this.#rest;
  }

  /**
   * Reads the next bytes.
   *
   * @param bytes The bytes.
   * @throws {WireError} When a block is not one that a hub may write.
   */
  feed(bytes: Uint8Array): void {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    let from = 0;
    for (;;) {
      const end = this.#rest.indexOf("\n\n", Math.max(from, this.#scanned - 1));
      if (end === -1) break;
      this.#onBlock(parseBlock(this.#rest.slice(from, end)));
      from = end + 2;
      this.#scanned = from;
    }
    this.#rest = this.#rest.slice(from);
    this.#scanned = this.#rest.length;
  }
}

/**
 * Reads one block.
 *
 * @param raw The block without its blank line.
 * @returns The block.
 * @throws {WireError} When it is not one that a hub may write.
 */
export function parseBlock(raw: string): Block {
  const at = performance.now();
  if (raw.includes("\r")) throw new WireError(`A block holds CR: ${show(raw)}`);
  const lines = raw.split("\n");
  const [first = ""] = lines;
  if (lines.length === 1) {
    const retry = /^retry: (\d+)$/.exec(first);
    if (retry !== null) return { kind: "retry", ms: Number(retry[1]), raw, at };
    if (first.startsWith("id: ")) return { kind: "id", id: first.slice(4), raw, at };
  }
  if (lines.every((line) => line.startsWith(": "))) {
    return { kind: "comment", text: lines.map((line) => line.slice(2)).join("\n"), raw, at };
  }
  let next = 0;
  const id = lines[next]?.startsWith("id: ") ? lines[next++]?.slice(4) ?? null : null;
  const name = lines[next]?.startsWith("event: ") ? lines[next++]?.slice(7) ?? "" : "";
  const data = lines.slice(next);
  if (data.length === 0 || !data.every((line) => line.startsWith("data: "))) {
    throw new WireError(`Not a block of the wire: ${show(raw)}`);
  }
  return { kind: "event", id, name, data: data.map((line) => line.slice(6)).join("\n"), raw, at };
}

/** A block in a message: cut, for a frame may be a megabyte long. */
export function show(raw: string): string {
  return JSON.stringify(
    raw.length > 300 ? `${raw.slice(0, 300)}… (${raw.length} characters)` : raw,
  );
}
