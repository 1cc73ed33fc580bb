/**
 * Both halves of the hop in one process, under a test's control: an object whose memory can go away, a
 * Worker's lines that come back to it, and clients that read when they are told to.
 *
 * @module
 */
import { subscribe } from "../../../src/adapters/cloudflare/hop/calls.ts";
import { HopConnection } from "../../../src/adapters/cloudflare/hop/connection.ts";
import { HopFeed } from "../../../src/adapters/cloudflare/hop/feed.ts";
import type { Answer, LineSocket } from "../../../src/adapters/cloudflare/hop/dial.ts";
import { HopLine } from "../../../src/adapters/cloudflare/hop/line.ts";
import { judgeByJournal } from "../../../src/adapters/cloudflare/hop/past.ts";
import type { HopRow } from "../../../src/adapters/cloudflare/hop/table.ts";
import type { HopSaved } from "../../../src/adapters/cloudflare/hop/types.ts";
import { type Begin, readAck, type Resume } from "../../../src/adapters/cloudflare/hop/wire.ts";
import { journalTopics } from "../../../src/hub/topics.ts";
import type { SubscribeOptions } from "../../../src/hub/types.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import { createMemoryJournal } from "../../../src/journal/memory.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { encodeRetry } from "../../../src/wire/frame.ts";
import { Parser } from "../../../src/wire/parser.ts";

/** What a client has read of one event. */
export interface Seen {
  readonly id: string | null;
  readonly name: string;
  readonly data: string;
}

/** Lets everything run that waits for nothing. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 60; i++) await Promise.resolve();
}

/** A socket between the two halves; what is on its way can be lost. */
class Wire {
  /** What the object has sent and the Worker has not heard yet. */
  readonly toWorker: (ArrayBuffer | string)[] = [];
  saved: HopSaved | null = null;
  connection: HopConnection | null = null;
  open = true;
  #listeners = new Map<string, (event: { readonly data: unknown }) => void>();
  readonly socket: LineSocket = {
    accept: () => {},
    send: (message: string) => {
      const taken = readAck(message);
      if (this.open && taken !== null) this.connection?.ack(taken);
    },
    close: () => {
      this.open = false;
      this.connection?.leave(true);
    },
    addEventListener: (type: string, listener: (event: { readonly data: unknown }) => void) =>
      void this.#listeners.set(type, listener),
  };

  /** The Worker hears some of what is on its way. */
  deliver(count = Infinity): void {
    while (this.open && count-- > 0) {
      const data = this.toWorker.shift();
      if (data === undefined) return;
      this.#listeners.get("message")?.({ data });
    }
  }

  /** It breaks off, and what was on its way is lost. */
  break(): void {
    if (!this.open) return;
    this.open = false;
    this.toWorker.length = 0;
    this.#listeners.get("close")?.({ data: null });
  }
}

/** One client with its line. */
export class HopClient {
  readonly row: HopRow;
  readonly seen: Seen[] = [];
  /** The most bytes that were sent over one socket and not acknowledged. */
  peak = 0;
  ended = false;
  /** The socket that feeds it now. */
  wire: Wire;
  line: HopLine;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #parser: Parser;
  #reading = false;

  constructor(world: HopWorld, row: HopRow, epoch: string, position: number) {
    this.row = row;
    this.wire = world.attach(this, { epoch, position, sent: 0 });
    this.line = new HopLine(
      this.wire.socket,
      (resume) => world.dial(this, resume),
      world.clock,
    );
    this.#reader = this.line.stream.getReader();
    this.#parser = new Parser({ onEvent: (event) => this.seen.push(event) });
    this.wire.connection?.begin(world.begin(row, epoch), encodeRetry(1500), null, 0);
  }

  /** Reads one chunk, if there is one. */
  async read(): Promise<void> {
    if (!this.#reading && !this.ended) {
      this.#reading = true;
      void this.#reader.read().then(({ done, value }) => {
        this.#reading = false;
        this.ended = done;
        if (value !== undefined) this.#parser.feed(value);
      });
    }
    await settle();
  }

  /** Whether it was sent away. */
  get reset(): boolean {
    return this.seen.some(({ name }) => name === "sse:reset");
  }

  /** Which events came as a history: the numbers that their data begin with. */
  get history(): number[] {
    return this.seen.filter(({ id, name }) => id === null && name === "")
      .map(({ data }) => Number(data.split(" ")[0]));
  }

  /** The holes that it was told of: from, exclusive, and to, inclusive. */
  get lags(): (readonly [number, number])[] {
    return this.seen.filter(({ name }) => name === "sse:lag").map(({ data }) => {
      const { from, to } = JSON.parse(data);
      return [Number(from.slice(17)), Number(to.slice(17))] as const;
    });
  }

  /** The offsets that came. */
  get offsets(): number[] {
    const offsets = this.seen.filter(({ id, name }) => id !== null && !name.startsWith("sse:"))
      .map(({ id }) => Number(id?.slice(17)));
    return offsets;
  }
}

/** An object, its Worker and its clients. */
export class HopWorld {
  readonly clock = new FakeClock();
  readonly journal: Journal;
  readonly clients: HopClient[] = [];
  /** Whether a Worker that comes back finds the object. */
  reachable = true;
  #feed: HopFeed | null = null;
  /** Which memory this is: what an earlier one still does is nobody's. */
  #memory = 0;

  constructor(journal: Journal = createMemoryJournal()) {
    this.journal = journal;
  }

  /** The object's memory begins. */
  async wake(): Promise<HopFeed> {
    const connections = { [Symbol.iterator]: () => this.#connections() };
    const settings = { clock: this.clock, logger: console };
    const feed = new HopFeed(this.journal, await this.journal.window(), connections, settings);
    this.#feed = feed;
    feed.follow();
    for (const client of this.clients) {
      const { wire } = client;
      if (wire.open && wire.saved !== null) this.#connect(client, wire, wire.saved);
    }
    for (const connection of connections) connection.pump();
    await settle();
    return feed;
  }

  /** The object hibernates, or its memory is lost in another way that keeps the sockets, and wakes. */
  async sleep(): Promise<void> {
    this.#feed?.stop();
    this.#memory++;
    await this.wake();
  }

  /** The object is reset: its sockets break off. */
  async reset(): Promise<void> {
    for (const { wire } of this.clients) wire.break();
    await this.sleep();
  }

  /** Publishes several events before anybody hears of the first. */
  async burst(topics: readonly string[]): Promise<number[]> {
    const at = this.clock.now();
    const appended = await Promise.all(
      topics.map((topic) => this.journal.append({ topic, name: "", data: "x", at })),
    );
    await settle();
    return appended.map(({ offset }) => offset);
  }

  /** A client comes, which has everything up to now. */
  async join(topics: readonly string[] | null, lag = false): Promise<HopClient> {
    const { epoch, head } = await this.journal.window();
    const own = topics === null ? null : new Map(topics.map((topic) => [topic, head]));
    const row = {
      ...{ connection: `c${this.clients.length}`, user: "", tag: "", topics: own, lag },
      ...{ since: head, pasts: 0, at: this.clock.now(), expiresAt: Infinity },
    };
    const client = new HopClient(this, row, epoch, head);
    this.clients.push(client);
    await settle();
    // A stream that breaks off before its hello has come ends.
    client.wire.deliver();
    return client;
  }

  async publish(topic: string, data: string): Promise<number> {
    const { offset } = await this.journal.append({ topic, name: "", data, at: this.clock.now() });
    await settle();
    return offset;
  }

  /** Lets a client listen to one more topic, which its object's tables remember. */
  async subscribe(client: HopClient, topic: string, options: SubscribeOptions): Promise<void> {
    const { connection } = client.wire;
    if (connection === null || connection.over) return;
    const settings = { clock: this.clock, replyMaxEvents: 1e6 };
    const table = { join: () => {}, promise: () => {} };
    await subscribe({ journal: this.journal, settings, table }, connection, topic, options);
    await settle();
  }

  /** Nothing of it goes on. */
  stop(): void {
    this.#feed?.stop();
    for (const { line } of this.clients) line.leave();
  }

  begin({ connection }: HopRow, epoch: string): Begin {
    return {
      ...{ type: "begin", connection, epoch, keepaliveMs: 15_000, keepaliveEvent: "ka" },
      ...{ writeTimeoutMs: 600_000, expiresAt: null },
    };
  }

  /** Makes a socket for a client; the connection behind it is in the object's memory. */
  attach(
    client: HopClient,
    { epoch, position, sent }: { epoch: string; position: number; sent: number },
  ): Wire {
    const wire = new Wire();
    const { connection } = client.row;
    const stands = { epoch, position, sent, acked: 0, live: false, opening: false, histories: [] };
    wire.saved = { tidemark: 1, connection, ...stands };
    this.#connect(client, wire, wire.saved);
    return wire;
  }

  async dial(client: HopClient, resume: Resume): Promise<Answer> {
    if (!this.reachable) return null;
    const topics = journalTopics(client.row.topics);
    const { judgement, window } = await judgeByJournal(this.journal, resume.after, topics, 1e6);
    if (judgement.verdict !== "resumed" || client.row.pasts !== resume.pasts) return "gone";
    const { epoch } = window;
    const stands = { epoch, position: judgement.position, sent: resume.waiting };
    client.wire = this.attach(client, stands);
    client.wire.connection?.goOn(this.begin(client.row, epoch));
    return client.wire.socket;
  }

  #connect(client: HopClient, wire: Wire, saved: HopSaved): void {
    const feed = this.#feed;
    if (feed === null) throw new Error("The object sleeps");
    const memory = this.#memory;
    const port = {
      send: (message: Uint8Array | string): void => {
        if (memory !== this.#memory || !wire.open) return;
        wire.toWorker.push(typeof message === "string" ? message : message.slice().buffer);
      },
      save: (now: HopSaved): void => {
        if (memory !== this.#memory) return;
        // As a runtime keeps it: a copy.
        wire.saved = structuredClone(now);
        client.peak = Math.max(client.peak, now.sent - now.acked);
      },
      close: (): void => {},
    };
    wire.connection = new HopConnection(feed, port, client.row, saved);
  }

  *#connections(): Generator<HopConnection> {
    for (const { wire } of this.clients) if (wire.connection !== null) yield wire.connection;
  }
}
