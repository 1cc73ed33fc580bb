/**
 * The chunked transfer coding of HTTP/1.1, RFC 9112, section 7.1.
 *
 * @module
 */
import { encodeUtf8 } from "../../wire/text.ts";

let lastBytes: Uint8Array | undefined;
let lastChunk: Uint8Array | undefined;

/**
 * Encodes a chunk. The newest is remembered: a hub hands the same bytes to one client after another.
 *
 * @param bytes The chunk's data, at least one byte: none would end the response.
 * @returns The encoded chunk, shared: read it, never change it.
 */
export function chunked(bytes: Uint8Array): Uint8Array {
  if (bytes === lastBytes && lastChunk !== undefined) return lastChunk;
  const head = encodeUtf8(`${bytes.length.toString(16)}\r\n`);
  const chunk = new Uint8Array(head.length + bytes.length + 2);
  chunk.set(head);
  chunk.set(bytes, head.length);
  chunk.set(CRLF, head.length + bytes.length);
  lastBytes = bytes;
  lastChunk = chunk;
  return chunk;
}

const CRLF = [13, 10];
