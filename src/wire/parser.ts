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
const SPACE = 32;
const COLON = 58;
const BOM = 0xfeff;
// The letters that fields are told by, in place.
const A = 97, D = 100, E = 101, I = 105, N = 110, R = 114, T = 116, V = 118;

const UNFINISHED = { stream: true };
/** The BOM is ours to strip: some runtimes' decoders strip one at the start of every chunk. */
const KEEP_BOM = { ignoreBOM: true };
/** Decodes bytes that begin and end with whole characters; it keeps nothing from call to call. */
const wholeDecoder = new TextDecoder("utf-8", KEEP_BOM);

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
  /** One decoder per connection, for it joins characters split over chunks. */
  readonly #decoder = new TextDecoder("utf-8", KEEP_BOM);
  /**
   * Whether the last chunk was ASCII: then no character is half read, and the next chunk is likely
   * to be ASCII too. A decoder that keeps nothing is several times as fast with that on Node and
   * Deno, but half as fast with other text on Node 20.
   */
  #wasAscii = false;
  /** The character to skip where the next text begins: a BOM at first, an LF after a CR; 0 for none. */
  #skip = BOM;
  /** Whether an id of the text being read must be searched for NUL; `null` until one asks. */
  #mayHoldNul: boolean | null = null;
  /** The pieces of a line that has not ended yet: joined once, so that a long line stays linear. */
  #pieces: string[] = [];
  #piecesLength = 0;
  #name = "";
  /** The lines of data so far; `null` before the first, for an empty one counts. */
  #data: string | null = null;
  /** Their characters, and one for the LF after each: a million empty lines are not free. */
  #dataLength = 0;
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
    const endsOnAscii = bytes.length > 0 && (bytes[bytes.length - 1] ?? 0) < 0x80;
    const text = endsOnAscii && this.#wasAscii
      ? wholeDecoder.decode(bytes)
      : this.#decoder.decode(bytes, UNFINISHED);
    this.#wasAscii = endsOnAscii && text.length === bytes.length;
    if (text.length === 0) return;
    this.#mayHoldNul = null;
    let at = 0;
    if (this.#skip !== 0) {
      if (text.charCodeAt(0) === this.#skip) at = 1;
      this.#skip = 0;
    }
    const cr = text.indexOf("\r", at);
    if (this.#pieces.length > 0) {
      const end = nearest(cr, text.indexOf("\n", at));
      if (end === -1) return this.#hold(text.slice(at));
      this.#pieces.push(text.slice(at, end + 1));
      const line = this.#pieces.join("");
      at = this.#after(text, end);
      this.#pieces = [];
      this.#piecesLength = 0;
      this.#line(line, 0, line.length - 1);
      this.#mayHoldNul = null;
    }
    at = cr === -1 ? this.#linesByLf(text, at) : this.#linesByAny(text, at);
    if (at < text.length) this.#hold(text.slice(at));
  }

  #hold(piece: string): void {
    this.#pieces.push(piece);
    this.#piecesLength += piece.length;
    if (this.#dataLength + this.#piecesLength > this.#max) this.#refuse();
  }

  #refuse(): never {
    throw new ProtocolError(`an event is longer than ${this.#max} characters`);
  }

  /** Where the line begins that follows the end of another. A last CR may get its LF later. */
  #after(text: string, end: number): number {
    const next = end + 1;
    if (text.charCodeAt(end) === LF) return next;
    if (next < text.length) return text.charCodeAt(next) === LF ? next + 1 : next;
    this.#skip = LF;
    return next;
  }

  /** Reads all lines that end, and returns where the one begins that does not. */
  #linesByAny(text: string, from: number): number {
    let at = from;
    let cr = text.indexOf("\r", at);
    let lf = text.indexOf("\n", at);
    while (cr !== -1 || lf !== -1) {
      const end = nearest(cr, lf);
      this.#line(text, at, end);
      at = this.#after(text, end);
      if (cr !== -1 && cr < at) cr = text.indexOf("\r", at);
      if (lf !== -1 && lf < at) lf = text.indexOf("\n", at);
    }
    return at;
  }

  /** The same where no CR is, as almost everywhere. Data and the blank line after it lead. */
  #linesByLf(text: string, from: number): number {
    let at = from;
    let lf = text.indexOf("\n", at);
    while (lf !== -1) {
      if (!isDataLine(text, at)) {
        this.#line(text, at, lf);
        at = lf + 1;
        lf = text.indexOf("\n", at);
        continue;
      }
      let data = this.#data;
      let dataLength = this.#dataLength;
      do {
        if (dataLength + (lf - at) > this.#max) this.#refuse();
        const start = afterSpace(text, at + 5);
        data = joined(data, text.slice(start, lf));
        dataLength += lf - start + 1;
        at = lf + 1;
        if (at < text.length && text.charCodeAt(at) === LF) {
          this.#dispatch(data);
          data = null;
          dataLength = 0;
          at++;
        }
        lf = at < text.length ? text.indexOf("\n", at) : -1;
      } while (lf !== -1 && isDataLine(text, at));
      this.#data = data;
      this.#dataLength = dataLength;
    }
    return at;
  }

  /** Reads one line. A CR or LF stands where it ends, so no comparison runs beyond it. */
  #line(text: string, from: number, end: number): void {
    if (from === end) return this.#dispatch(this.#data);
    // What was read of a line counts, whatever the line is.
    if (this.#dataLength + (end - from) > this.#max) this.#refuse();
    switch (text.charCodeAt(from)) {
      case COLON:
        this.#handlers.onComment?.(text.slice(afterSpace(text, from + 1), end));
        return;
      case D: {
        const start = text.startsWith("data", from) ? valueStart(text, from + 4, end) : -1;
        if (start === -1) return;
        this.#data = joined(this.#data, text.slice(start, end));
        this.#dataLength += end - start + 1;
        return;
      }
      case E: {
        const start = isEventName(text, from) ? valueStart(text, from + 5, end) : -1;
        if (start !== -1) this.#name = text.slice(start, end);
        return;
      }
      case I: {
        const start = text.charCodeAt(from + 1) === D ? valueStart(text, from + 2, end) : -1;
        if (start === -1) return;
        const id = text.slice(start, end);
        if (!(this.#nulIn(text) && id.includes("\0"))) this.#id = id;
        return;
      }
      case R: {
        const start = text.startsWith("retry", from) ? valueStart(text, from + 5, end) : -1;
        const digits = start === -1 ? "" : text.slice(start, end);
        if (!/^[0-9]+$/.test(digits)) return;
        this.#handlers.onRetry?.(Math.min(Number(digits), Number.MAX_SAFE_INTEGER));
      }
    }
  }

  /** One search for all ids of a text costs less than one in each, but for V8 not beyond ASCII. */
  #nulIn(text: string): boolean {
    return this.#mayHoldNul ??= !this.#wasAscii || text.includes("\0");
  }

  #dispatch(data: string | null): void {
    const name = this.#name;
    const id = this.#id;
    this.#name = "";
    this.#data = null;
    this.#dataLength = 0;
    this.#id = null;
    if (data !== null) this.#handlers.onEvent?.({ name, data, id });
    else if (id !== null) this.#handlers.onId?.(id);
  }
}

/** The smaller of two places, of which -1 is none. */
function nearest(cr: number, lf: number): number {
  return lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
}

/** Whether a line of data begins here, and not with the bare name, which is rare. */
function isDataLine(text: string, at: number): boolean {
  return text.charCodeAt(at) === D && text.charCodeAt(at + 1) === A &&
    text.charCodeAt(at + 2) === T && text.charCodeAt(at + 3) === A &&
    text.charCodeAt(at + 4) === COLON;
}

function isEventName(text: string, at: number): boolean {
  return text.charCodeAt(at) === E && text.charCodeAt(at + 1) === V &&
    text.charCodeAt(at + 2) === E && text.charCodeAt(at + 3) === N &&
    text.charCodeAt(at + 4) === T;
}

/** Another line of data. The strings stay linked, and are copied once when somebody reads them. */
function joined(data: string | null, line: string): string {
  return data === null ? line : `${data}\n${line}`;
}

/** Where the value begins of a field whose name could end here; -1 when it does not. */
function valueStart(text: string, at: number, end: number): number {
  if (at === end) return end;
  return text.charCodeAt(at) === COLON ? afterSpace(text, at + 1) : -1;
}

function afterSpace(text: string, at: number): number {
  return text.charCodeAt(at) === SPACE ? at + 1 : at;
}
