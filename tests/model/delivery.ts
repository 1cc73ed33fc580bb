/**
 * A reader that trusts nobody: it follows one connection's bytes beside the whole history of what
 * was published, and throws at the first frame that should not stand where it stands.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parseCursor } from "../../src/wire/cursor.ts";
import { parseHello, type Verdict } from "../../src/wire/hello.ts";
import { Parser } from "../../src/wire/parser.ts";
import { hears, type History } from "./history.ts";
import type { Report } from "./reports.ts";

/** What a reader is told of its connection beforehand. */
export interface Expected {
  readonly topics: readonly string[] | null;
  /** Whether it said that it understands being told of lost events. */
  readonly declaresLag: boolean;
  /** Whether a hole may be told and passed; otherwise it must be the end. */
  readonly maySkip: boolean;
  readonly verdict: Verdict;
  /** Where its frames begin: after its own cursor when it resumed, else after the head. */
  readonly start: number;
  /** How many events had been published when it connected, ephemeral ones included. */
  readonly published: number;
}

/** The name of ephemeral events, and of a hook's frames: they have no id to be told by. */
export const EPHEMERAL = "ephemeral";
/** The name of what hooks write: `begin`, then `end`. */
export const HOOK = "hook";

/** One connection's reader. */
export class Reader {
  /** Why the stream was ended, when the hub said so. */
  reset: string | null = null;
  /** The connection's id, from its hello. */
  connection = "";
  /** How many frames the lag notices named. */
  missed = 0;
  /** How many lag notices there were, besides those of lost events of other pods. */
  lags = 0;
  /** How often it was told, exactly where they would stand, of lost events of other pods. */
  gaps = 0;
  /** How many events it was given without their id. */
  withheld = 0;
  /** The waits that it was asked to keep after its opening. */
  readonly retries: number[] = [];
  /** How many events it was given. */
  events = 0;
  /** How many hooks ran to their end. */
  hooks = 0;
  readonly #history: History;
  readonly #expected: Expected;
  readonly #reports: Report[] = [];
  readonly #parser: Parser;
  #chunks = 0;
  #read = 0;
  /** The newest offset that it was given, or told of as missed. */
  #position: number;
  /** The newest of which it knows the id. */
  #cursor: number;
  /** The number of the newest event it was given, over durable and ephemeral ones. */
  #newest = -1;
  #dropped: number | null = null;
  #hooking = false;

  /**
   * @param history What is published.
   * @param expected What it is told beforehand.
   */
  constructor(history: History, expected: Expected) {
    this.#history = history;
    this.#expected = expected;
    this.#position = expected.start;
    this.#cursor = expected.start;
    this.#parser = new Parser({
      onEvent: ({ name, data, id }) => this.#reports.push({ kind: "event", name, data, id }),
      onId: (id) => this.#reports.push({ kind: "id", id }),
      onComment: (text) => this.#reports.push({ kind: "comment", text }),
      onRetry: (ms) => this.#reports.push({ kind: "retry", ms }),
    });
  }

  /** The offset with which a client would come back. */
  get position(): number {
    return this.#cursor;
  }

  /**
   * From here on no id may reach it: it would come back with a cursor that says it had missed nothing.
   */
  get #mute(): number {
    const { declaresLag, start } = this.#expected;
    return declaresLag ? Infinity : this.#history.gapAfter(start);
  }

  /** Whether anything was written to it: that begins with a hello. */
  get begun(): boolean {
    return this.#chunks > 0;
  }

  /** Whether everything that it should have been given so far was given or told as missed. */
  get complete(): boolean {
    return this.#missing(this.#history.head).length === 0;
  }

  /**
   * Reads what was written since the last time.
   *
   * @param chunks All that was written.
   */
  read(chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks.slice(this.#chunks)) {
      assert(chunk.length > 0 && chunk.length <= 65_536, `a chunk of ${chunk.length} bytes`);
      this.#parser.feed(chunk);
    }
    this.#chunks = chunks.length;
    for (; this.#read < this.#reports.length; this.#read++) {
      const report = this.#reports[this.#read];
      if (report !== undefined) this.#report(report, this.#read);
    }
  }

  #report(report: Report, index: number): void {
    assertEquals(this.reset, null, "nothing follows a reset");
    if (index === 0) return assertEquals(report, { kind: "retry", ms: 1500 });
    if (index === 1) return this.#hello(report);
    const isLag = report.kind === "event" && report.name === "sse:lag";
    if (this.#dropped !== null) assert(isLag, "the comment stands right before its lag");
    switch (report.kind) {
      case "retry":
        return void this.retries.push(report.ms);
      case "comment":
        return this.#comment(report.text);
      case "id":
        return this.#idAlone(report.id);
      case "event":
        return this.#event(report);
    }
  }

  #hello(report: Report): void {
    assert(report.kind === "event" && report.name === "sse:hello" && report.id === null);
    const hello = parseHello(report.data);
    assertEquals([hello.verdict, hello.epoch], [this.#expected.verdict, this.#history.epoch]);
    assertEquals(hello.resumed, hello.verdict === "resumed");
    this.connection = hello.connection ?? "";
  }

  #comment(text: string): void {
    const [, digits] = /^dropped ([0-9]+)$/.exec(text) ?? [];
    assert(digits !== undefined, `an unknown comment: ${text}`);
    this.#dropped = Number(digits);
  }

  #idAlone(id: string): void {
    const offset = this.#offset(id);
    assert(!this.#hooking, "no id alone while a hook writes");
    assert(offset >= this.#position && offset <= this.#history.head, "an id alone goes forward");
    assertEquals(this.#missing(offset), [], "an id alone covers only what was given");
    assert(offset < this.#mute, "no id at or above what it cannot be told of");
    this.#position = this.#cursor = offset;
  }

  #event({ name, data, id }: Extract<Report, { kind: "event" }>): void {
    if (name.startsWith("sse:")) {
      assertEquals(id, null);
      if (name === "sse:lag") return this.#lag(data);
      if (name === "sse:keepalive") return assertEquals(data, "{}");
      assertEquals(name, "sse:reset");
      this.reset = JSON.parse(data).reason;
      return;
    }
    if (name === HOOK) {
      assertEquals(id, null);
      this.#hooking = data === "begin";
      if (data === "end") this.hooks++;
      return;
    }
    assert(!this.#hooking, "live frames wait while a hook writes");
    const number = Number(data.split(":", 1)[0]);
    assert(number > this.#newest, "events come in the order in which they were published");
    this.#newest = number;
    this.events++;
    if (name === EPHEMERAL) {
      assertEquals(id, null);
      assert(number >= this.#expected.published, "an ephemeral event is never replayed");
      return assert(hears(this.#expected.topics, data.split(":")[1] ?? ""), "another's topic");
    }
    const [next] = this.#missing(this.#history.head);
    const offset = next?.offset ?? NaN;
    assertEquals({ name, data }, { name: next?.name ?? "", data: next?.data ?? "" });
    this.#position = offset;
    if (offset > this.#mute) {
      this.withheld++;
      return assertEquals(id, null, "without its id behind what it cannot be told of");
    }
    assertEquals(this.#offset(id ?? ""), offset);
    this.#cursor = offset;
  }

  #lag(data: string): void {
    const { missed, from, to } = JSON.parse(data);
    assert(this.#expected.declaresLag, "only who declared it is told of a hole");
    assertEquals(missed, this.#dropped, "the comment says the same number, where there is one");
    this.#dropped = null;
    assert(!this.#hooking, "a hole is told where it stands, not within a hook's frames");
    const [start, end] = [this.#offset(from), this.#offset(to)];
    assert(start >= this.#position && end > start);
    assertEquals(this.#missing(start), [], "all before the hole was given");
    const lost = this.#missing(end);
    this.#position = this.#cursor = end;
    const unknown = lost.some(({ gap }) => gap === true);
    if (unknown && lost.length === 1 && lost[0]?.offset === end && end === start + 1) {
      assertEquals(missed, null, "nobody knows how many");
      this.gaps++;
      return;
    }
    assert(this.#expected.maySkip, "a hole is passed only where that is the policy");
    assertEquals(missed, unknown ? null : lost.length, "the exact number, or none");
    assert(lost.length > 0 && lost.every((event) => !this.#history.holds(event)));
    this.missed += missed ?? 0;
    this.lags++;
  }

  #missing(to: number): ReturnType<History["matching"]> {
    const all = this.#history.matching(this.#position, to, this.#expected.topics);
    return this.#expected.declaresLag ? all : all.filter(({ gap }) => gap !== true);
  }

  #offset(id: string): number {
    const cursor = parseCursor(id);
    assertEquals(cursor?.epoch, this.#history.epoch);
    return cursor?.offset ?? NaN;
  }
}
