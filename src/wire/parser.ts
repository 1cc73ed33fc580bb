/**
 * The event-stream parser: bytes in, events out, whatever the chunks.
 *
 * It follows the WHATWG HTML standard, section 9.2.6, and reports besides what the standard lets a
 * browser keep to itself: comments, `retry:` and blocks that hold an id alone.
 *
 * @module
 */
import { ProtocolError } from "../errors.ts";
import { MAX_BUFFER_BYTES } from "./timing.ts";

const LF = 10;
const BOM = 0xfeff;

/** One dispatched event. */
export interface ParsedEvent {
  /** The `event:` field; `""` when there was none, which a browser calls `message`. */
  readonly name: string;
  /** The `data:` lines, joined by LF. */
  readonly data: string;
  /** This block's own `id:` field; `null` when it had none. */
  readonly id: string | null;
}

/** What a parser reports. Each is called in the order in which its block or line ended. */
export interface ParserHandlers {
  /** A block with data ended. */
  onEvent?(event: ParsedEvent): void;
  /** A block ended that held an id and no data: it moves the cursor and dispatches nothing. */
  onId?(id: string): void;
  /** A comment line, without its colon and one space. */
  onComment?(text: string): void;
  /** A `retry:` line of digits, in milliseconds; at most the largest safe integer. */
  onRetry?(ms: number): void;
}

/** Options of a {@linkcode Parser}. */
export interface ParserOptions {
  /** The most characters held for one unfinished event; 1 MiB, as many as a frame has bytes. */
  readonly maxBufferBytes?: number;
}

/**
 * A parser for one connection. It is linear in what it reads and holds one unfinished event at most.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { Parser } from "@tidemark/sse";
 *
 * const seen: string[] = [];
 * const parser = new Parser({ onEvent: (event) => seen.push(`${event.name}=${event.data}`) });
 * parser.feed(new TextEncoder().encode("event: tick\ndata: 1\n"));
 * parser.feed(new TextEncoder().encode("\n"));
 * assertEquals(seen, ["tick=1"]);
 * ```
 */
export class Parser {
  readonly #handlers: ParserHandlers;
  readonly #max: number;
  /**
   * One decoder per connection, for it joins characters split over chunks. The BOM is ours to strip:
   * some runtimes' decoders strip one at the start of every chunk.
   */
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #atStart = true;
  /** The pieces of a line that has not ended yet: joined once, so that a long line stays linear. */
  #pieces: string[] = [];
  #held = 0;
  #afterCr = false;
  #name = "";
  #data: string[] = [];
  #id: string | null = null;

  /**
   * Makes a parser for one connection.
   *
   * @param handlers What to call.
   * @param options The bound.
   */
  constructor(handlers: ParserHandlers, options: ParserOptions = {}) {
    this.#handlers = handlers;
    this.#max = options.maxBufferBytes ?? MAX_BUFFER_BYTES;
  }

  /**
   * Reads the next bytes of the stream.
   *
   * @param bytes The bytes; they may end anywhere, within a character too.
   * @throws {ProtocolError} When an unfinished event passes the bound. The stream cannot be read on.
   */
  feed(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text.length === 0) return;
    let at = 0;
    if (this.#atStart && text.charCodeAt(0) === BOM) at = 1;
    else if (this.#afterCr && text.charCodeAt(0) === LF) at = 1;
    this.#atStart = false;
    this.#afterCr = false;
    let cr = text.indexOf("\r", at);
    let lf = text.indexOf("\n", at);
    while (cr !== -1 || lf !== -1) {
      const endsOnCr = lf === -1 || (cr !== -1 && cr < lf);
      const end = endsOnCr ? cr : lf;
      this.#line(this.#finishLine(text, at, end));
      at = end + 1;
      if (endsOnCr) {
        if (at === text.length) this.#afterCr = true;
        else if (at === lf) at++;
        cr = text.indexOf("\r", at);
      }
      if (lf !== -1 && lf < at) lf = text.indexOf("\n", at);
    }
    if (at < text.length) this.#hold(text.slice(at));
  }

  /** What was held of a line counts as long as it does not end, whatever the line is. */
  #finishLine(text: string, from: number, to: number): string {
    this.#grow(to - from);
    const end = text.slice(from, to);
    if (this.#pieces.length === 0) {
      this.#held -= end.length;
      return end;
    }
    this.#pieces.push(end);
    const line = this.#pieces.join("");
    this.#held -= line.length;
    this.#pieces = [];
    return line;
  }

  #hold(piece: string): void {
    this.#pieces.push(piece);
    this.#grow(piece.length);
  }

  #grow(length: number): void {
    this.#held += length;
    if (this.#held > this.#max) {
      throw new ProtocolError(`an event is longer than ${this.#max} characters`);
    }
  }

  #line(line: string): void {
    if (line.length === 0) return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) {
      this.#handlers.onComment?.(line.slice(line.charCodeAt(1) === 32 ? 2 : 1));
      return;
    }
    const field = colon === -1 ? line : line.slice(0, colon);
    if (field === "data") {
      const value = colon === -1 ? "" : valueAfter(line, colon);
      this.#data.push(value);
      // The LF that joins two lines counts too: a million empty lines are not free.
      this.#grow(value.length + 1);
    } else if (field === "event") {
      this.#name = colon === -1 ? "" : valueAfter(line, colon);
    } else if (field === "id") {
      const id = colon === -1 ? "" : valueAfter(line, colon);
      if (!id.includes("\0")) this.#id = id;
    } else if (field === "retry") {
      const digits = colon === -1 ? "" : valueAfter(line, colon);
      if (!/^[0-9]+$/.test(digits)) return;
      this.#handlers.onRetry?.(Math.min(Number(digits), Number.MAX_SAFE_INTEGER));
    }
  }

  #dispatch(): void {
    const data = this.#data;
    const id = this.#id;
    const name = this.#name;
    this.#name = "";
    this.#id = null;
    this.#held = 0;
    if (data.length > 0) {
      this.#data = [];
      const text = data.length === 1 ? data[0] ?? "" : data.join("\n");
      this.#handlers.onEvent?.({ name, data: text, id });
    } else if (id !== null) {
      this.#handlers.onId?.(id);
    }
  }
}

function valueAfter(line: string, colon: number): string {
  return line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1);
}
