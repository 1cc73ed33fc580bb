/**
 * Seeded streams in the reads in which they arrive: the kinds that parsers of event streams are
 * usually measured with, where most reads are small.
 *
 * @module
 */
import { type Random, seededRandom } from "./fixtures.ts";

/** The kinds, in the order in which they are printed. */
export const STREAM_KINDS = [
  "tokens",
  "named",
  "identified",
  "scripts",
  "heartbeats",
  "idle",
  "crumbs",
  "mixed",
] as const;

/** One of the kinds. */
export type StreamKind = (typeof STREAM_KINDS)[number];

/** One event of a stream, as a parser must report it. */
export interface StreamEvent {
  /** The `event:` field; `""` for none. */
  readonly name: string;
  /** The data, its lines joined by LF. */
  readonly data: string;
  /** The block's own `id:` field; `null` for none. */
  readonly id: string | null;
}

/** A stream and what it holds. */
export interface BenchStream {
  /** The reads, none of them empty. */
  readonly chunks: readonly Uint8Array[];
  /** Every event, in order. */
  readonly events: readonly StreamEvent[];
}

const WORDS: readonly string[] = [
  "tide",
  " rises",
  " at",
  " noon",
  ",",
  " and",
  " ebbs",
  " by",
  ".",
];
const PHRASES: readonly string[] = [
  "Ebbe und Flut über Nacht",
  "прилив и отлив",
  "満潮は午後三時です",
  "المد والجزر",
  "παλίρροια",
  "밀물과 썰물",
];
const SIGNS: readonly string[] = ["🌊", "🧭", "⚓️", "👩🏽‍✈️", "🏴‍☠️"];

function one(list: readonly string[], random: Random): string {
  return list[Math.floor(random() * list.length)] ?? "";
}

/** What a stream is written into. */
class Script {
  readonly #encoder = new TextEncoder();
  readonly chunks: Uint8Array[] = [];
  readonly events: StreamEvent[] = [];

  read(text: string): this {
    this.chunks.push(this.#encoder.encode(text));
    return this;
  }

  event(name: string, data: string, id: string | null = null): this {
    this.events.push({ name, data, id });
    return this;
  }
}

/** A language model's answer: one word of it in each event, and much around the word. */
function tokens(script: Script, count: number, random: Random): void {
  const id = `answer-${Math.floor(random() * 1e15).toString(36)}`;
  const created = 1_700_000_000 + Math.floor(random() * 1e8);
  const head = { id, object: "chat.completion.chunk", created, model: "tidal-1" };
  for (let i = 0; i < count; i++) {
    const last = i === count - 1;
    const delta = last ? {} : { content: one(WORDS, random) };
    const choice = { index: 0, delta, finish_reason: last ? "stop" : null };
    const data = JSON.stringify({ ...head, choices: [choice] });
    script.read(`data: ${data}\n\n`).event("", data);
  }
  script.read("data: [DONE]\n\n").event("", "[DONE]");
}

/** The same with the kind of each event in its name. */
function named(script: Script, count: number, random: Random): void {
  const put = (name: string, more: Record<string, unknown>): void => {
    const data = JSON.stringify({ type: name, ...more });
    script.read(`event: ${name}\ndata: ${data}\n\n`).event(name, data);
  };
  put("message_start", { message: { role: "assistant", usage: { input: 20, output: 1 } } });
  put("ping", {});
  for (let i = 0; i < count; i++) {
    put("content_delta", { index: 0, delta: { type: "text", text: one(WORDS, random) } });
  }
  put("message_stop", {});
}

function identified(script: Script, count: number, random: Random): void {
  const first = 1 + Math.floor(random() * 9000);
  for (let i = 0; i < count; i++) {
    const id = String(first + i);
    const data = JSON.stringify({ n: i, text: one(WORDS, random) });
    script.read(`id: ${id}\nevent: tick\ndata: ${data}\n\n`).event("tick", data, id);
  }
}

/** Text of many scripts, and signs that are several characters each. */
function scripts(script: Script, count: number, random: Random): void {
  for (let i = 0; i < count; i++) {
    const data = `${one(PHRASES, random)} ${one(SIGNS, random)} ${one(PHRASES, random)}`;
    script.read(`data: ${data}\n\n`).event("", data);
  }
}

/** Comments by themselves, each a read, and a small event now and then. */
function heartbeats(script: Script, count: number, random: Random): void {
  for (let i = 0; i < count; i++) {
    for (let beat = 0; beat < 4; beat++) script.read(": keepalive\n");
    const data = one(WORDS, random).trim();
    script.read(`data: ${data}\n\n`).event("", data);
  }
}

/** A server that holds its connection open with one colon at a time, and ends the line at last. */
function idle(script: Script, count: number, random: Random): void {
  for (let i = 0; i < count; i++) script.read(":");
  const data = one(WORDS, random).trim();
  script.read(`\ndata: ${data}\n\n`).event("", data);
}

/** Tokens, cut anywhere into reads of 1 to 15 characters. */
function crumbs(script: Script, count: number, random: Random): void {
  const whole = new Script();
  tokens(whole, count, random);
  const text = whole.chunks.map((chunk) => new TextDecoder().decode(chunk)).join("");
  for (let at = 0; at < text.length;) {
    const size = 1 + Math.floor(random() * 15);
    script.read(text.slice(at, at + size));
    at += size;
  }
  script.events.push(...whole.events);
}

/** What few servers send: every terminator, lines in several reads, fields that mean nothing. */
function mixed(script: Script, count: number, random: Random): void {
  for (let i = 0; i < count; i++) {
    const [a, b, c] = [one(WORDS, random), one(WORDS, random), one(PHRASES, random)];
    const id = String(i);
    script.read(`id: ${id}\r\nevent: crlf\r\ndata:${a}\r\n\r\n`).event("crlf", valueOf(a), id);
    script.read(`event: cut\r\ndata: ${a}\r`).read("\n\r\n").event("cut", a);
    script.read(`event: lines\ndata: ${a}\ndata: ${b}\ndata: ${c}\n\n`);
    script.event("lines", `${a}\n${b}\n${c}`);
    script.read(`: one comment\n:another\n`).read(`retry: 2000\nunknown: ${b}\n\n`);
    script.read(`event: cr\rdata: ${c}\rdata\rdata: ${b}\r\r`).event("cr", `${c}\n\n${b}`);
    script.read("eve").read("nt: pieces\nda").read(`ta: ${c}\n\n`).event("pieces", c);
    script.read(`event: late\ndata: ${a}`).read("\n").read("\n").event("late", a);
  }
}

/** What a parser makes of a value that follows its colon at once. */
function valueOf(text: string): string {
  return text.startsWith(" ") ? text.slice(1) : text;
}

const WRITERS: {
  readonly [K in StreamKind]: (script: Script, count: number, random: Random) => void;
} = { tokens, named, identified, scripts, heartbeats, idle, crumbs, mixed };

/**
 * A stream of one kind, and what it holds.
 *
 * @param kind `tokens`: a language model's answer, data alone; `named`: with a name; `identified`:
 * with a name and an id; `scripts`: text of many scripts; `heartbeats`: four comments to an event;
 * `idle`: a colon at a time; `crumbs`: tokens cut into reads of about 8 bytes; `mixed`: what few
 * servers send.
 * @param count How many: events, of `idle` colons, of `mixed` rounds of six events.
 * @param seed What it follows from.
 * @returns The stream.
 */
export function benchStream(kind: StreamKind, count: number, seed: number): BenchStream {
  const script = new Script();
  WRITERS[kind](script, count, seededRandom(seed));
  return { chunks: script.chunks, events: script.events };
}
