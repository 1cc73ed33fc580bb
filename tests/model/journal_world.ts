/**
 * Two pods over one journal whose answers a test controls, their clients, and what must be true of
 * each of these.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { openHub } from "../../src/cluster/open_hub.ts";
import type { JournaledHub } from "../../src/cluster/types.ts";
import type { HistoryRequest } from "../../src/hub/types.ts";
import { createMemoryStore, type MemoryStore } from "../../src/journal/memory.ts";
import { FakeClock } from "../../src/testing/fake_clock.ts";
import { JournalClient } from "./journal_client.ts";
import { type Answer, HeldJournal } from "./journal_held.ts";
import { checkClient, type Episode, type Known, type Told } from "./journal_rules.ts";

/** What the two hubs have in common. */
export interface Bounds {
  readonly maxEvents: number;
  readonly ttlMs: number | null;
  readonly replyMaxEvents: number;
  readonly clientBuffer: number;
  readonly slow: "lag" | "reset";
  /** How many turns of the microtask queue pass between two moves. */
  readonly turns: number;
}

/** One thing that happens. */
export type Move =
  | { readonly do: "publish"; readonly pod: number; readonly topic: string; readonly size: number }
  | {
    readonly do: "burst";
    readonly pod: number;
    readonly topic: string;
    readonly events: number;
  }
  | { readonly do: "trim"; readonly keep: number }
  | {
    readonly do: "connect";
    readonly pod: number;
    readonly topics: readonly string[] | null;
    readonly back: number | null;
    readonly lag: boolean;
    readonly ready: boolean;
    readonly history: HistoryRequest | null;
  }
  | { readonly do: "accept" | "acceptOne" | "refuse" | "leave"; readonly client: number }
  | {
    readonly do: "subscribe";
    readonly client: number;
    readonly topic: string;
    readonly history: HistoryRequest | { readonly back: number } | null;
  }
  | { readonly do: "unsubscribe"; readonly client: number; readonly topic: string }
  | { readonly do: "hold" | "holdTail" | "openTail" | "breakTail" | "goAway"; readonly pod: number }
  | {
    readonly do: "answer";
    readonly pod: number;
    readonly index: number;
    readonly how: Answer;
  }
  | { readonly do: "release"; readonly pod: number }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "settle" };

/** A client, and what it was promised. */
interface Guest extends Told {
  readonly client: JournalClient;
  readonly pod: number;
  left: boolean;
}

/** How often things were seen, so that a test can tell that it saw them. */
export type Tally = Record<string, number>;

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Two pods, a journal and clients. */
export class JournalWorld {
  readonly clock = new FakeClock();
  readonly store: MemoryStore = createMemoryStore();
  readonly journals: readonly HeldJournal[] = [0, 1].map(() => new HeldJournal(this.store.open()));
  readonly guests: Guest[] = [];
  readonly log: Known[] = [];
  readonly tally: Tally;
  readonly #bounds: Bounds;
  #hubs: readonly JournaledHub[] = [];
  #published = 0;
  #epoch = "";

  /**
   * @param bounds What the hubs have in common.
   * @param tally Where it counts.
   */
  constructor(bounds: Bounds, tally: Tally = {}) {
    this.#bounds = bounds;
    this.tally = tally;
  }

  /** Opens the hubs. */
  async open(): Promise<void> {
    const { maxEvents, ttlMs, replyMaxEvents, clientBuffer, slow } = this.#bounds;
    const replay = { maxEvents, replyMaxEvents, ...(ttlMs !== null && { ttlMs }) };
    const options = { replay, clientBuffer, slow, clock: this.clock, logger: silent };
    this.#hubs = await Promise.all(
      this.journals.map((journal) => openHub({ ...options, journal })),
    );
    this.#epoch = this.hub(0).position().epoch;
  }

  /** A pod's hub. */
  hub(pod: number): JournaledHub {
    const hub = this.#hubs[pod % 2];
    assert(hub);
    return hub;
  }

  /** Lets something happen. */
  async move(one: Move): Promise<void> {
    switch (one.do) {
      case "publish":
        this.#publish(one.pod, one.topic, one.size);
        break;
      case "burst":
        for (let i = 0; i < one.events; i++) this.#publish(one.pod, one.topic, 1);
        break;
      case "trim": {
        await this.store.open({ retention: { maxEntries: one.keep } }).window();
        this.store.open({ retention: { maxEntries: 1_000_000 } });
        break;
      }
      case "connect":
        await this.#connect(one);
        break;
      case "accept":
      case "acceptOne":
      case "refuse":
        this.#guest(one.client)?.client.sink[one.do]();
        break;
      case "leave": {
        const guest = this.#guest(one.client);
        if (guest === undefined) break;
        guest.left = true;
        guest.client.sink.leave();
        break;
      }
      case "subscribe":
        await this.#subscribe(one);
        break;
      case "unsubscribe":
        this.#unsubscribe(one);
        break;
      case "hold":
        this.#journal(one.pod).held = true;
        break;
      case "holdTail":
      case "openTail":
        this.#journal(one.pod).holdTail(one.do === "holdTail");
        break;
      case "breakTail":
        this.#journal(one.pod).breakTails();
        break;
      case "goAway":
        this.#journal(one.pod).away = true;
        this.#journal(one.pod).breakTails();
        break;
      case "answer":
        this.#journal(one.pod).answer(one.index, one.how);
        break;
      case "release":
        this.#journal(one.pod).release();
        break;
      case "wait":
        this.clock.advance(one.ms);
        break;
      case "settle":
        break;
    }
    if (one.do === "settle") await ticks();
    else if (one.do !== "publish") await ticks(this.#bounds.turns);
    await this.#observe();
  }

  /** Lets everything that was held come, and checks every client. */
  async finish(): Promise<void> {
    for (const journal of this.journals) journal.release();
    for (let i = 0; i < 40; i++) {
      for (const { client, left } of this.guests) {
        if (!left && !client.sink.ended && !client.sink.destroyed) client.sink.accept();
      }
      this.clock.advance(100);
      await ticks();
    }
    for (const journal of this.journals) {
      assert(journal.most <= 16 + 2, `${journal.most} questions at once`);
      assert(journal.largestPage <= 512);
    }
    await this.#observe();
    const { floor, head } = await this.store.open().window();
    for (const hub of this.#hubs) assertEquals(hub.position().head, head, "a pod stayed behind");
    const world = {
      log: this.log,
      epoch: this.#epoch,
      floor,
      head,
      budget: this.#bounds.replyMaxEvents,
    };
    for (const guest of this.guests) {
      checkClient(guest.client, guest, world, this.tally);
      assertEquals(guest.client.sink.overruns, 0);
    }
    const ended = Promise.all(this.#hubs.map((hub) => hub.shutdown()));
    for (let i = 0; i < 130; i++) {
      this.clock.advance(100);
      await ticks(20);
    }
    await ended;
    assertEquals(this.clock.pending, 0, "timers are left");
  }

  #publish(pod: number, topic: string, size: number): void {
    const n = String(++this.#published);
    const data = `${n} ${"x".repeat(size)}`;
    this.hub(pod).publish({ topic, data }).then(
      (offset) => {
        this.log[offset] = { offset, topic, data };
      },
      () => assert(this.#journal(pod).away),
    );
  }

  async #connect(one: Extract<Move, { do: "connect" }>): Promise<void> {
    const { head } = await this.store.open().window();
    const cursor = one.back === null ? null : Math.max(0, head - one.back);
    const client = new JournalClient(
      this.hub(one.pod),
      { ...(one.topics && { topics: one.topics }), ...(one.history && { history: one.history }) },
      { lag: one.lag, ...(cursor !== null && { cursor: `${this.#epoch}:${cursor}` }) },
      one.ready,
    );
    const lag = one.lag && this.#bounds.slow === "lag";
    this.guests.push({
      ...{ client, pod: one.pod, cursor, topics: one.topics, lag, left: false },
      ...{ headThen: head, atConnect: one.history, seen: null, episodes: [] },
    });
  }

  async #subscribe(one: Extract<Move, { do: "subscribe" }>): Promise<void> {
    const guest = this.#guest(one.client);
    if (guest === undefined || guest.seen === null || guest.topics === null) return;
    const hub = this.hub(guest.pod);
    const at = hub.position().head;
    const { history } = one;
    const back = history !== null && typeof history === "object" && "back" in history
      ? Math.max(0, at - history.back)
      : null;
    const options = history === null
      ? {}
      : back !== null
      ? { after: `${this.#epoch}:${back}` }
      : { history: history as HistoryRequest };
    const episode: Episode = {
      ...{ topic: one.topic, head: at, after: back, until: null, failed: false },
      ...{ request: back === null ? history as HistoryRequest | null : null, verdict: null },
    };
    const known = guest.topics.includes(one.topic) ||
      guest.episodes.some(({ topic, until }) => topic === one.topic && until === null);
    if (known) return;
    guest.episodes.push(episode);
    hub.subscribe(guest.client.connection, one.topic, options).then((answer) => {
      if (answer === null) guest.episodes.splice(guest.episodes.indexOf(episode), 1);
      else {
        assertEquals(answer.head, at);
        episode.verdict = answer.verdict;
      }
    }, () => episode.failed = true);
    await Promise.resolve();
  }

  #unsubscribe(one: Extract<Move, { do: "unsubscribe" }>): void {
    const guest = this.#guest(one.client);
    const episode = guest?.episodes.find(({ topic, until }) =>
      topic === one.topic && until === null
    );
    if (guest === undefined || episode === undefined) return;
    const hub = this.hub(guest.pod);
    hub.unsubscribe(guest.client.connection, one.topic);
    episode.until = hub.position().head;
  }

  /** Notes what was true when each hello was sent. */
  async #observe(): Promise<void> {
    let window: { floor: number; head: number } | null = null;
    for (const guest of this.guests) {
      if (guest.seen !== null || guest.client.named("sse:hello").length === 0) continue;
      window ??= await this.store.open().window();
      guest.seen = window;
    }
  }

  #guest(index: number): Guest | undefined {
    return this.guests.length === 0 ? undefined : this.guests[index % this.guests.length];
  }

  #journal(pod: number): HeldJournal {
    const journal = this.journals[pod % 2];
    assert(journal);
    return journal;
  }
}

/** Lets every promise that can settle without time passing settle. */
export async function ticks(times = 60): Promise<void> {
  for (let i = 0; i < times; i++) await Promise.resolve();
}
