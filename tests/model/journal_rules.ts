/**
 * What must be true of what a client of a journaled hub was sent.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { HistoryRequest } from "../../src/hub/types.ts";
import type { JournalClient } from "./journal_client.ts";
import type { Report } from "./reports.ts";

/** An event as the journal stored it. */
export interface Known {
  readonly offset: number;
  readonly topic: string;
  readonly data: string;
}

/** A topic that was subscribed on a live connection. */
export interface Episode {
  readonly topic: string;
  /** The head then: what follows comes live. */
  readonly head: number;
  readonly request: HistoryRequest | null;
  readonly after: number | null;
  /** The head when it was unsubscribed. */
  until: number | null;
  verdict: string | null;
  failed: boolean;
}

/** What a client asked for. */
export interface Told {
  readonly cursor: number | null;
  readonly topics: readonly string[] | null;
  readonly lag: boolean;
  /** The journal's head when it connected. */
  readonly headThen: number;
  readonly atConnect: HistoryRequest | null;
  /** The journal's window when its hello was seen. */
  seen: { readonly floor: number; readonly head: number } | null;
  readonly episodes: Episode[];
}

/** The journal, and the hubs' bound. */
export interface Truth {
  readonly log: readonly (Known | undefined)[];
  readonly epoch: string;
  readonly floor: number;
  readonly head: number;
  readonly budget: number;
}

type Owed = "must" | "may" | "never";

/** Checks everything that one client was sent. */
export function checkClient(
  client: JournalClient,
  told: Told,
  truth: Truth,
  tally: Record<string, number>,
): void {
  const count = (what: string): void => void (tally[what] = (tally[what] ?? 0) + 1);
  const { reports } = client;
  const ended = client.over;
  const hello = reports.findIndex((one) => one.kind === "event" && one.name === "sse:hello");
  if (hello === -1) {
    // Nothing but the retry, and perhaps a goodbye: above all no id.
    for (const one of reports) {
      assert(one.kind === "retry" || (one.kind === "event" && one.name === "sse:reset"), show(one));
    }
    count("never greeted");
    return;
  }
  assert(client.hello !== null);
  const { verdict, head } = client.hello;
  count(verdict);
  checkVerdict(verdict, told, truth);
  const start = verdict === "resumed" ? told.cursor ?? 0 : head;
  const walk = new Walk(start, told, truth, count);
  for (const one of reports.slice(hello + 1)) walk.next(one);
  if (!ended) {
    walk.everythingTo(truth.head, "the end");
    walk.finish(verdict === "resumed" ? null : head);
    count("whole");
  } else count("ended");
}

function checkVerdict(verdict: string, told: Told, truth: Truth): void {
  const { cursor, seen } = told;
  assert(seen !== null);
  if (cursor === null) return assertEquals(verdict, "fresh");
  switch (verdict) {
    case "resumed":
      return;
    case "gap_floor":
      return void assert(seen.floor > cursor + 1, `gap_floor: ${cursor}, floor ${seen.floor}`);
    case "gap_ahead":
      return void assert(cursor > told.headThen, `gap_ahead: ${cursor}, head ${told.headThen}`);
    case "gap_budget": {
      const matching = truth.log.filter((one) =>
        one !== undefined && one.offset > cursor && one.offset <= seen.head &&
        (told.topics === null || one.topic === "" || told.topics.includes(one.topic))
      );
      return void assert(matching.length > truth.budget, `gap_budget: ${matching.length}`);
    }
    default:
      throw new Error(`The verdict ${verdict} cannot be`);
  }
}

/** A walk through the frames behind a hello. */
class Walk {
  readonly #told: Told;
  readonly #truth: Truth;
  readonly #count: (what: string) => void;
  #position: number;
  #history: { readonly topic: string; readonly data: string[] } | null = null;
  readonly #histories: { readonly topic: string; readonly data: readonly string[] }[] = [];
  #over = false;

  constructor(start: number, told: Told, truth: Truth, count: (what: string) => void) {
    this.#position = start;
    this.#told = told;
    this.#truth = truth;
    this.#count = count;
  }

  next(one: Report): void {
    assert(!this.#over, `after the goodbye: ${show(one)}`);
    if (one.kind === "comment" || one.kind === "retry") return;
    if (one.kind === "id") {
      const offset = this.#offset(one.id);
      assert(offset >= this.#position, `an id went back to ${offset}`);
      this.everythingTo(offset, `the id ${offset}`);
      this.#position = offset;
      return;
    }
    switch (one.name) {
      case "sse:keepalive":
        return;
      case "sse:reset":
        this.#over = true;
        return;
      case "sse:history":
        return this.#boundary(JSON.parse(one.data));
      case "sse:lag":
        return this.#lag(JSON.parse(one.data));
    }
    assert(!one.name.startsWith("sse:"), show(one));
    if (one.id === null) {
      assert(this.#history !== null, `no id: ${show(one)}`);
      this.#history.data.push(one.data);
      return;
    }
    const offset = this.#offset(one.id);
    const entry = this.#truth.log[offset];
    assert(entry !== undefined, `${offset} was never stored`);
    assertEquals(one.data, entry.data);
    assert(offset > this.#position, `${offset} came after ${this.#position}`);
    assert(this.#owed(entry) !== "never", `${offset} of ${entry.topic} is not for this client`);
    this.everythingTo(offset - 1, `the frame ${offset}`);
    this.#position = offset;
    this.#count("frames");
  }

  /** Everything that is owed up to an offset must have come. */
  everythingTo(offset: number, what: string): void {
    const short = this.#missing(this.#position, offset);
    assertEquals(short, [], `missing before ${what}`);
  }

  /** @param head Up to where the histories at connect reach; `null` when there are none. */
  finish(head: number | null): void {
    assertEquals(this.#history, null, "a history did not end");
    const { episodes, atConnect, topics } = this.#told;
    for (const topic of topics ?? []) {
      const given = this.#histories.filter((one) => one.topic === topic);
      const wanted = atConnect !== null && head !== null;
      assertEquals(given.length, wanted ? 1 : 0, `histories of ${topic} at connect`);
      if (!wanted) continue;
      const episode = { topic, head, request: atConnect, after: null };
      this.#checkHistory(episode, given[0]?.data ?? []);
      this.#count("histories at connect");
    }
    for (const episode of episodes) {
      const given = this.#histories.filter(({ topic }) => topic === episode.topic);
      const alone = episodes.filter(({ topic }) => topic === episode.topic).length === 1;
      if (!alone || episode.failed || episode.until !== null) continue;
      const wanted = episode.request !== null ||
        (episode.after !== null && episode.verdict === "resumed");
      if (topics?.includes(episode.topic) && atConnect !== null) continue;
      assertEquals(given.length, wanted ? 1 : 0, `histories of ${episode.topic}`);
      if (wanted) this.#checkHistory(episode, given[0]?.data ?? []);
    }
  }

  /** What was asked for, each once and in order. */
  #checkHistory(
    { topic, head, request, after }: Pick<Episode, "topic" | "head" | "request" | "after">,
    data: readonly string[],
  ): void {
    const all = this.#truth.log.flatMap((one) =>
      one !== undefined && one.topic === topic && one.offset <= head && one.offset > (after ?? 0)
        ? [one]
        : []
    );
    const wanted = typeof request === "object" && request !== null && "last" in request
      ? all.slice(Math.max(0, all.length - request.last))
      : all;
    const given = new Set(data);
    const short = wanted.filter((one) => !given.has(one.data));
    // Of a cursor that was `resumed` all must come; else what was trimmed meanwhile is no part of it.
    const lost = after === null ? short.filter(({ offset }) => offset >= this.#truth.floor) : short;
    assertEquals(lost, [], `missing in the history of ${topic}`);
    const order = wanted.filter((one) => given.has(one.data)).map((one) => one.data);
    assertEquals(data, order, `the history of ${topic}`);
    this.#count("histories");
  }

  #boundary({ phase, topic }: { phase: string; topic: string }): void {
    if (phase === "begin") {
      assertEquals(this.#history, null, "a history within a history");
      this.#history = { topic, data: [] };
      return;
    }
    assertEquals(this.#history?.topic, topic);
    if (this.#history !== null) this.#histories.push(this.#history);
    this.#history = null;
  }

  #lag({ missed, from, to }: { missed: number | null; from: string; to: string }): void {
    assert(this.#told.lag, "a lag that was not declared");
    const [first, last] = [this.#offset(from), this.#offset(to)];
    this.everythingTo(first, `the lag after ${first}`);
    const after = Math.max(first, this.#position);
    if (missed !== null) {
      // What a topic said before it was unsubscribed may have counted, or not.
      const [least, most] = [this.#missing(after, last), this.#missing(after, last, "may")];
      const what = `missed between ${first} and ${last}: ${missed}`;
      assert(missed >= least.length && missed <= most.length, `${what}, not ${least.length}`);
    }
    this.#position = Math.max(this.#position, last);
    this.#count(missed === null ? "lags of unknown size" : "lags");
  }

  #missing(from: number, upTo: number, owed: "must" | "may" = "must"): number[] {
    const short: number[] = [];
    for (let offset = from + 1; offset <= upTo; offset++) {
      const entry = this.#truth.log[offset];
      if (entry === undefined) continue;
      const is = this.#owed(entry);
      if (is === "must" || is === owed) short.push(offset);
    }
    return short;
  }

  #owed({ topic, offset }: Known): Owed {
    const { topics, episodes } = this.#told;
    if (topics === null || topic === "" || topics.includes(topic)) return "must";
    let owed: Owed = "never";
    for (const episode of episodes) {
      if (episode.topic !== topic || offset <= episode.head) continue;
      if (episode.until === null) return "must";
      if (offset <= episode.until) owed = "may";
    }
    return owed;
  }

  #offset(cursor: string): number {
    const [epoch, offset] = cursor.split(":");
    assertEquals(epoch, this.#truth.epoch);
    return Number(offset);
  }
}

function show(report: Report): string {
  return JSON.stringify(report).slice(0, 200);
}
