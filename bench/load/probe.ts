/**
 * What one connection received, read in full: are these the frames that were published, each of
 * them, in order, unharmed, and how late were they?
 *
 * @module
 */
import { readLoadEvent } from "../fixtures.ts";

/** What a connection's bytes tell. */
export interface Reading {
  /** What is wrong with them; `null` when nothing is. */
  readonly wrong: string | null;
  /** For each frame, how many milliseconds after its publishing it arrived. */
  readonly delaysMs: readonly number[];
}

/** Between two frames: `data: …` to the blank line. Chunk sizes stand outside. */
const DATA = /^data: ?(.*)$/gm;

/**
 * Reads a part of a chunked HTTP body that starts and ends between two frames.
 *
 * @param bytes The bytes as they came from the socket, chunk sizes and all.
 * @param arrivals When each frame's mark arrived, in milliseconds since the Unix epoch.
 * @returns What they tell.
 */
export function readProbe(bytes: Uint8Array, arrivals: readonly number[]): Reading {
  const text = unchunk(bytes);
  if (text === null) return { wrong: "the body is not a sequence of whole chunks", delaysMs: [] };
  const delaysMs: number[] = [];
  let previous: number | null = null;
  for (const [, data] of text.matchAll(DATA)) {
    const event = readLoadEvent(data ?? "");
    // Not ours: a keepalive, say. A damaged frame shows as a hole.
    if (event === null) continue;
    if (previous !== null && event.sequence !== previous + 1) {
      return { wrong: `frame ${event.sequence} follows frame ${previous}`, delaysMs };
    }
    previous = event.sequence;
    const arrival = arrivals[delaysMs.length];
    if (arrival === undefined) return { wrong: "more frames than marks", delaysMs };
    delaysMs.push(arrival - event.at);
  }
  if (delaysMs.length !== arrivals.length) {
    return { wrong: `${delaysMs.length} whole frames, ${arrivals.length} marks`, delaysMs };
  }
  return { wrong: null, delaysMs };
}

/**
 * Joins the chunks of a chunked body.
 *
 * @param bytes The body, from one chunk's start to another one's end.
 * @returns The text of the chunks; `null` when a size is not one or a chunk is cut short.
 */
export function unchunk(bytes: Uint8Array): string | null {
  const sizes = new TextDecoder();
  // Another one, which remembers the part of a character at a chunk's end.
  const decoder = new TextDecoder();
  let text = "";
  let at = 0;
  while (at < bytes.length) {
    const lineEnd = bytes.indexOf(10, at);
    const size = lineEnd === -1 ? "" : sizes.decode(bytes.subarray(at, lineEnd)).trim();
    if (!/^[0-9a-f]+$/i.test(size)) return null;
    const from = lineEnd + 1;
    const to = from + Number.parseInt(size, 16);
    if (bytes[to] !== 13 || bytes[to + 1] !== 10) return null;
    text += decoder.decode(bytes.subarray(from, to), { stream: true });
    at = to + 2;
  }
  return text + decoder.decode();
}
