/**
 * HTTP/1.1 responses, read by hand: the head, and the three ways in which a body says where it ends.
 *
 * @module
 */

/** The head of a response. */
export interface ResponseHead {
  /** The status. */
  readonly status: number;
  /** The headers. */
  readonly headers: Headers;
}

/** How a body says where it ends. */
export type Framing =
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  | { readonly kind: "close" };

/**
 * Parses a response's head.
 *
 * @param bytes What was read so far.
 * @returns The head and the bytes beyond it, or `null` while it is not complete.
 * @throws When it is not an HTTP/1 head.
 */
export function parseHead(bytes: Uint8Array): { head: ResponseHead; rest: Uint8Array } | null {
  const text = new TextDecoder("latin1").decode(bytes);
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const status = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine);
  if (status === null) throw new Error(`Not a status line: ${JSON.stringify(statusLine)}`);
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return { head: { status: Number(status[1]), headers }, rest: bytes.slice(end + 4) };
}

/**
 * How the body of a response is framed (RFC 9112, section 6.3).
 *
 * @param head The response's head.
 * @param method The method of the request.
 * @returns The framing.
 */
export function framingOf(head: ResponseHead, method: string): Framing {
  if (method === "HEAD" || head.status === 204 || head.status === 304) {
    return { kind: "length", bytes: 0 };
  }
  if (head.headers.get("transfer-encoding")?.toLowerCase() === "chunked") {
    return { kind: "chunked" };
  }
  const length = head.headers.get("content-length");
  return length === null ? { kind: "close" } : { kind: "length", bytes: Number(length) };
}

/** Takes the framing off a body, whatever the pieces it comes in. */
export class BodyDecoder {
  /** Whether the body has ended by its own framing. */
  done: boolean;
  readonly #kind: Framing["kind"];
  readonly #onBytes: (bytes: Uint8Array) => void;
  /** What is left of the chunk, or of the whole body. */
  #left = 0;
  /** The line that is being read: a chunk's size, the line end after a chunk, or a trailer. */
  #line = "";
  #expect: "size" | "data" | "data-end" | "trailer" = "size";

  /**
   * @param framing How the body is framed.
   * @param onBytes Given each piece of the body.
   */
  constructor(framing: Framing, onBytes: (bytes: Uint8Array) => void) {
    this.#kind = framing.kind;
    this.#onBytes = onBytes;
    if (framing.kind === "length") this.#left = framing.bytes;
    this.done = framing.kind === "length" && framing.bytes === 0;
  }

  /**
   * Reads the next bytes from the socket.
   *
   * @param bytes The bytes.
   * @throws When they break the framing.
   */
  feed(bytes: Uint8Array): void {
    if (bytes.length === 0 || this.done) return;
    if (this.#kind === "close") return this.#onBytes(bytes);
    if (this.#kind === "length") {
      const taken = bytes.subarray(0, this.#left);
      this.#left -= taken.length;
      this.#onBytes(taken);
      this.done = this.#left === 0;
      return;
    }
    for (let at = 0; at < bytes.length && !this.done;) {
      if (this.#expect === "data") {
        const piece = bytes.subarray(at, at + this.#left);
        this.#onBytes(piece);
        at += piece.length;
        this.#left -= piece.length;
        if (this.#left === 0) this.#expect = "data-end";
        continue;
      }
      // A byte at a time: these lines are short.
      const byte = bytes[at++];
      if (byte === 0x0a) this.#endLine();
      else if (byte !== 0x0d) this.#line += String.fromCharCode(byte ?? 0);
    }
  }

  /** Whether the end of the connection is the proper end of the body. */
  atEnd(): boolean {
    return this.done || this.#kind === "close";
  }

  #endLine(): void {
    const line = this.#line;
    this.#line = "";
    if (this.#expect === "trailer") {
      this.done = line === "";
    } else if (this.#expect === "data-end") {
      if (line !== "") throw new Error(`A chunk is longer than its size: ${JSON.stringify(line)}`);
      this.#expect = "size";
    } else {
      if (!/^[0-9a-fA-F]+(?:;.*)?$/.test(line)) {
        throw new Error(`Not a chunk's size: ${JSON.stringify(line)}`);
      }
      this.#left = Number.parseInt(line, 16);
      this.#expect = this.#left === 0 ? "trailer" : "data";
    }
  }
}
