/**
 * Where the frames of a broker's protocol end, so that one can be taken out of a connection and the
 * rest still makes sense.
 *
 * @module
 */
import type { BrokerName } from "./cluster_broker.ts";

/** Finds the end of the frame that begins at an offset; −1 while it is not there as a whole. */
type FrameEnd = (bytes: Uint8Array, from: number) => number;

const CR = 13;
const LF = 10;
const latin1 = new TextDecoder("latin1");

/** Cuts a connection's bytes into frames. */
export class FrameSplitter {
  readonly #end: FrameEnd;
  #rest: Uint8Array = new Uint8Array(0);

  /** @param name Whose protocol it is. */
  constructor(name: BrokerName) {
    this.#end = name === "nats" ? natsEnd : redisEnd;
  }

  /**
   * Takes the next bytes.
   *
   * @param bytes They.
   * @returns The frames that are whole now.
   */
  feed(bytes: Uint8Array): Uint8Array[] {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const frames: Uint8Array[] = [];
    let from = 0;
    for (let end = this.#end(all, 0); end !== -1; end = this.#end(all, from)) {
      frames.push(all.slice(from, end));
      from = end;
    }
    this.#rest = all.slice(from);
    return frames;
  }
}

/** A frame's characters, one for each byte. */
export function frameText(bytes: Uint8Array): string {
  return latin1.decode(bytes);
}

/** A line; what carries a payload says its size last. */
function natsEnd(bytes: Uint8Array, from: number): number {
  const end = lineEnd(bytes, from);
  if (end === -1) return -1;
  const line = frameText(bytes.subarray(from, end - 2));
  if (!/^H?(?:MSG|PUB) /i.test(line)) return end;
  return within(bytes, end + Number(line.split(" ").at(-1)) + 2);
}

/** A line, text of a length, or an array of such (RESP 2). */
function redisEnd(bytes: Uint8Array, from: number): number {
  const end = lineEnd(bytes, from);
  if (end === -1) return -1;
  const kind = String.fromCharCode(bytes[from] ?? 0);
  const count = Number(frameText(bytes.subarray(from + 1, end - 2)));
  if (kind === "$") return count < 0 ? end : within(bytes, end + count + 2);
  if (kind !== "*") return end;
  let place = end;
  for (let i = 0; i < count && place !== -1; i++) place = redisEnd(bytes, place);
  return place;
}

function lineEnd(bytes: Uint8Array, from: number): number {
  for (let i = bytes.indexOf(CR, from); i !== -1; i = bytes.indexOf(CR, i + 1)) {
    if (i + 1 >= bytes.length) return -1;
    if (bytes[i + 1] === LF) return i + 2;
  }
  return -1;
}

function within(bytes: Uint8Array, end: number): number {
  return end <= bytes.length ? end : -1;
}
