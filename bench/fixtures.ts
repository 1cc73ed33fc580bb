/**
 * Seeded inputs of the benchmarks: the same seed gives the same bytes on every runtime.
 *
 * @module
 */
import { encodeComment, encodeFrame, encodeIdOnly, joinBytes } from "../src/wire/frame.ts";

/** A source of numbers from 0 inclusive to 1 exclusive. */
export type Random = () => number;

/** One event to publish. */
export interface BenchEvent {
  /** The event's name; `""` for none. */
  readonly name: string;
  /** The event's data. */
  readonly data: string;
}

/** The size in bytes of the frames that the load benchmark publishes, their blank line included. */
export const FRAME_BYTES = 190;

/** The epoch of servers that have none of their own. As long as a hub's, so that frames are too. */
export const EPOCH = "0123456789abcdef";

/** Stands exactly once in each published frame, and nowhere else: a reader counts frames by it. */
export const MARK = "~";

/**
 * A small generator (mulberry32), good enough to vary inputs.
 *
 * @param seed Any whole number.
 * @returns The numbers that follow from it.
 */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * A copy in another order, each order as likely as any other.
 *
 * @param items What to put in order.
 * @param random Where the order comes from.
 * @returns The copy.
 */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz     ";

/** Words that look like nothing a compressor, a branch predictor or a cache would know by heart. */
function letters(length: number, random: Random): string {
  let text = "";
  for (let i = 0; i < length; i++) {
    text += LETTERS.charAt(Math.floor(random() * LETTERS.length));
  }
  return text;
}

const PROSE = letters(4096, seededRandom(190));
const FIXED_BYTES = `id: ${EPOCH}:\nevent: notify\ndata: \n\n`.length;

/**
 * The event that the load benchmark publishes. Encoded with an epoch of 16 characters and the
 * sequence number as its offset, its frame is {@linkcode FRAME_BYTES} long.
 *
 * @param sequence Its number, 1 or more; it becomes the offset.
 * @param at When it is published, in milliseconds since the Unix epoch: it travels in the data, so
 * that a reader on the same machine can tell how late the frame is.
 * @returns The event.
 */
export function loadEvent(sequence: number, at: number): BenchEvent {
  const head = `{"at":${at},"n":${sequence},"mark":"${MARK}","text":"`;
  const length = FRAME_BYTES - FIXED_BYTES - String(sequence).length - head.length - 2;
  const from = (sequence * 31) % (PROSE.length - FRAME_BYTES);
  return { name: "notify", data: `${head}${PROSE.slice(from, from + length)}"}` };
}

/**
 * The same event as the text of a frame, for servers that do not frame by themselves.
 *
 * @param sequence Its number.
 * @param event The event of that number.
 * @returns The frame's text.
 */
export function loadFrame(sequence: number, event: BenchEvent): string {
  return `id: ${EPOCH}:${sequence}\nevent: ${event.name}\ndata: ${event.data}\n\n`;
}

/**
 * Reads back the number and the time of a {@linkcode loadEvent}, and checks every character of it.
 *
 * @param data The data as it arrived.
 * @returns The number and the time; `null` when the data is not such an event's.
 */
export function readLoadEvent(data: string): { sequence: number; at: number } | null {
  const match = /^\{"at":([0-9]+),"n":([0-9]+),/.exec(data);
  if (match === null) return null;
  const at = Number(match[1]);
  const sequence = Number(match[2]);
  return loadEvent(sequence, at).data === data ? { sequence, at } : null;
}

/** The kinds of input that the benchmarks of the parser and the encoder run over. */
export type Kind = "short" | "json" | "multiline" | "utf8" | "large";

/** Every kind, in the order in which they are printed. */
export const KINDS: readonly Kind[] = ["short", "json", "multiline", "utf8", "large"];

const WORDS: readonly string[] = ["naïve", "Straße", "Привет", "日本語", "العربية", "🌊🧭", "tide"];

/** What one event of each kind holds. */
const DATA: { readonly [K in Kind]: (index: number, random: Random) => string } = {
  short: (index, random) => `{"n":${index},"text":"${letters(120, random)}"}`,
  json: (index, random) =>
    JSON.stringify({
      id: index,
      user: { name: letters(12, random), tags: [letters(6, random), letters(8, random)] },
      readings: Array.from({ length: 40 }, () => Math.floor(random() * 1_000_000) / 1000),
      note: `${letters(40, random)} "quoted" \\ ${letters(300, random)}`,
    }),
  multiline: (_index, random) =>
    Array.from(
      { length: 8 + Math.floor(random() * 8) },
      () => letters(Math.floor(random() * 80), random),
    ).join("\n"),
  utf8: (_index, random) =>
    Array.from(
      { length: 60 },
      () => WORDS[Math.floor(random() * WORDS.length)] ?? "tide",
    ).join(" "),
  large: (_index, random) => letters(4096, random).repeat(64),
};

/**
 * Events of one kind.
 *
 * @param kind `short`: about 190 bytes framed; `json`: about 1 KB of JSON; `multiline`: 8 to 15
 * lines, some empty; `utf8`: characters of one to four bytes; `large`: 256 KiB on one line.
 * @param count How many.
 * @param seed What they follow from.
 * @returns The events.
 */
export function events(kind: Kind, count: number, seed: number): BenchEvent[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, (_, index) => ({
    name: random() < 0.8 ? "notify" : "",
    data: DATA[kind](index, random),
  }));
}

/**
 * The stream that a hub would send for some events: each with an id, and as on a real stream an id
 * alone and a keepalive now and then.
 *
 * @param list The events.
 * @returns The bytes.
 */
export function encodeStream(list: readonly BenchEvent[]): Uint8Array {
  const chunks: Uint8Array[] = [];
  list.forEach((event, index) => {
    chunks.push(encodeFrame(`${EPOCH}:${index + 1}`, event.name, event.data));
    if (index % 50 === 49) chunks.push(encodeIdOnly(`${EPOCH}:${index + 1}`));
    if (index % 50 === 49) chunks.push(encodeComment("keepalive"));
  });
  return joinBytes(chunks);
}

/**
 * Cuts bytes into pieces of one size, as a socket would.
 *
 * @param bytes The bytes.
 * @param size The size of each piece but the last, at least 1.
 * @returns Views of the same memory.
 */
export function pieces(bytes: Uint8Array, size: number): Uint8Array[] {
  const list: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) list.push(bytes.subarray(at, at + size));
  return list;
}
