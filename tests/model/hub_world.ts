/**
 * A hub, its clients and their runtimes under any schedule: each step is done to the hub and to the
 * history beside it, and every byte written so far is then judged.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createHub } from "../../src/hub/hub.ts";
import type { PresenceEvent } from "../../src/hub/presence.ts";
import type { Hub, Writer } from "../../src/hub/types.ts";
import { FakeClock } from "../../src/testing/fake_clock.ts";
import { RecordingSink } from "../../src/testing/recording_sink.ts";
import { EPHEMERAL, HOOK, Reader } from "./delivery.ts";
import { History } from "./history.ts";
import type { Step, Tally, WorldOptions } from "./schedule.ts";

interface Client {
  readonly sink: RecordingSink;
  readonly reader: Reader;
  readonly open: () => void;
  /** Whether its runtime has taken every chunk at once, always. */
  eager: boolean;
  /** Whether the test ended it. */
  gone: boolean;
}

const TTL_MS = 60_000;
const WRITE_TIMEOUT_MS = 10_000;
/** How much later than it falls due a timeout may be noticed. */
const TICKS_MS = 100;
const BUFFER_BYTES = 1_048_576;

/** A hub and what surrounds it. */
export class HubWorld {
  readonly hub: Hub;
  readonly clock = new FakeClock();
  readonly #history: History;
  readonly #options: WorldOptions;
  readonly #clients: Client[] = [];
  readonly #presence: PresenceEvent[] = [];
  /** How many events were published, ephemeral ones included. */
  #published = 0;
  /** How many bytes were published since the connections could last take any. */
  #burst = 0;

  /** @param options What this schedule varies. */
  constructor(options: WorldOptions) {
    this.#options = options;
    const { slow, clientBuffer, maxEvents, replyMaxEvents } = options;
    const quiet = { debug() {}, info() {}, warn() {}, error() {} };
    this.hub = createHub({
      slow,
      clientBuffer,
      clientBufferBytes: BUFFER_BYTES,
      keepaliveMs: 1000,
      writeTimeoutMs: WRITE_TIMEOUT_MS,
      replay: { maxEvents, replyMaxEvents, ttlMs: TTL_MS },
      onPresence: (event) => void this.#presence.push(event),
      clock: this.clock,
      logger: quiet,
    });
    this.clock.advance(1);
    const { epoch } = this.hub.position();
    this.#history = new History(epoch, {
      maxEvents,
      replyMaxEvents,
      ttlMs: TTL_MS,
      maxBytes: 64 * 1_048_576,
    });
  }

  /** Does one step, and judges. */
  async step(step: Step): Promise<void> {
    switch (step.do) {
      case "publish":
        this.#publish(step);
        break;
      case "connect":
        this.#connect(step);
        break;
      case "wait":
        await this.#wait(step.ms);
        break;
      case "turn":
        await this.#turn();
        break;
      default:
        this.#act(step.do, step.client);
    }
    this.#judge();
  }

  /** Adds what happened to a tally. */
  count(tally: Tally): void {
    const { verdicts, departures } = this.hub.metrics();
    tally.clients += this.#clients.length;
    tally.resumed += verdicts.resumed;
    tally.evicted += departures.evicted;
    tally.dead += departures.dead;
    for (const { reader } of this.#clients) {
      tally.events += reader.events;
      tally.lags += reader.lags;
      tally.hooked += reader.hooks;
    }
  }

  /** Lets every client that is left take everything, and judges that nothing is missing. */
  async finish(): Promise<void> {
    for (const client of this.#clients) {
      client.open();
      if (!client.gone) client.sink.accept();
    }
    await this.#turn();
    this.#judge();
    for (const { gone, sink, reader } of this.#clients) {
      if (gone || sink.ended || sink.destroyed) continue;
      assert(reader.complete, "a client that takes everything has everything");
    }
    // A runtime that failed and was not written to since has not been found out yet.
    if (this.#clients.every(({ gone }) => !gone)) assertEquals(this.hub.queuedFrames, 0);
    await this.#shutdown();
  }

  async #shutdown(): Promise<void> {
    const alive = this.#clients.filter(({ gone, sink }) => !gone && !sink.ended && !sink.destroyed);
    let stopped = false;
    this.hub.shutdown().then(() => stopped = true);
    await this.#turn();
    this.#judge();
    for (const { reader, sink } of alive) {
      assertEquals([reader.reset, sink.ended, sink.destroyed], ["shutdown", true, false]);
    }
    // Those whose runtime has failed or takes nothing are waited for within a bound.
    await this.#wait(WRITE_TIMEOUT_MS + TICKS_MS);
    assert(stopped, "a shutdown is bounded");
    assertEquals([this.clock.pending, this.hub.clientCount], [0, 0], "nothing is left behind");
    this.#judgePresence();
    this.#judgeMetrics();
  }

  #publish({ topic, size, ephemeral }: Extract<Step, { do: "publish" }>): void {
    const data = `${this.#published++}:${topic}:${"x".repeat(size)}`;
    const name = ephemeral ? EPHEMERAL : "durable";
    this.#burst += size + 200;
    const offset = this.hub.publish({ topic, name, data, ephemeral });
    if (ephemeral) return assertEquals(offset, 0);
    const bytes = size + 100;
    const event = this.#history.publish({ topic, name, data, bytes, born: this.clock.monotonic() });
    assertEquals(offset, event.offset);
  }

  #connect({ topics, lag, cursor, ready, hook }: Extract<Step, { do: "connect" }>): void {
    const presented = this.#presented(cursor);
    const headers = new Headers();
    if (presented !== "") headers.set("Last-Event-ID", presented);
    if (lag) headers.set("SSE-Lag", "1");
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => open = resolve);
    if (hook === "quick") open();
    const onConnect = async (writer: Writer): Promise<void> => {
      await writer.event(HOOK, "begin");
      await opened;
      await writer.event(HOOK, "end");
    };
    this.#history.evict(this.clock.monotonic());
    const verdict = this.#history.verdict(presented, topics);
    const { head } = this.#history;
    const expected = {
      topics,
      verdict,
      maySkip: lag && this.#options.slow === "lag",
      start: verdict === "resumed" ? Number(presented.split(":")[1]) : head,
      published: this.#published,
    };
    const response = this.hub.serve(new Request("http://localhost/", { headers }), {
      ...(topics !== null && { topics }),
      ...(hook !== "none" && { onConnect }),
    });
    const reader = new Reader(this.#history, expected);
    const sink = RecordingSink.for(response, ready);
    this.#clients.push({ sink, reader, open, eager: ready && hook === "none", gone: false });
  }

  #presented(cursor: Extract<Step, { do: "connect" }>["cursor"]): string {
    if (cursor === "none") return "";
    if (cursor === "nonsense") return "42";
    const { epoch } = this.#history;
    if ("offset" in cursor) return `${epoch}:${cursor.offset}`;
    const before = this.#clients[cursor.of % Math.max(this.#clients.length, 1)];
    return before === undefined ? "" : `${epoch}:${before.reader.position}`;
  }

  #act(what: Extract<Step, { client: number }>["do"], index: number): void {
    const client = this.#clients[index % Math.max(this.#clients.length, 1)];
    if (client === undefined) return;
    const { sink } = client;
    switch (what) {
      case "accept":
        return sink.accept();
      case "acceptOne":
        client.eager = false;
        return sink.acceptOne();
      case "refuse":
        client.eager = false;
        return sink.refuse();
      case "leave":
        client.gone = true;
        return sink.leave();
      case "fail":
        client.gone = true;
        return sink.fail();
      case "open":
        return client.open();
      case "disconnect": {
        const { connection } = client.reader;
        if (connection === "") return;
        this.hub.disconnect({ connection });
        client.gone = true;
      }
    }
  }

  /** Like an event loop: between two timers promises settle. */
  async #wait(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 50) {
      this.clock.advance(Math.min(left, 50));
      await this.#turn();
    }
  }

  async #turn(): Promise<void> {
    for (let i = 0; i < 30; i++) await Promise.resolve();
    this.#burst = 0;
  }

  #judge(): void {
    this.#history.evict(this.clock.monotonic());
    for (const { sink, reader, eager } of this.#clients) {
      assertEquals(sink.overruns, 0, "a sink that said no, or that ended, is not written to");
      reader.read(sink.chunks);
      if (sink.ended) assert(endsWhole(sink.chunks), "an orderly end never cuts a frame");
      if (eager && this.#burst < BUFFER_BYTES / 2) {
        assert(reader.reset !== "slow", "a client that takes everything is never slow");
      }
    }
  }

  #judgePresence(): void {
    const told = new Map<string, PresenceEvent[]>();
    for (const event of this.#presence) {
      told.set(event.connection, [...(told.get(event.connection) ?? []), event]);
    }
    const greeted = this.#clients.filter(({ sink }) => sink.chunks.length > 0);
    assertEquals(told.size, greeted.length, "presence for those who got a hello, and no others");
    for (const { reader } of greeted) {
      const events = told.get(reader.connection) ?? [];
      assertEquals(events.map(({ kind }) => kind), ["connected", "disconnected"]);
      if (reader.reset === null) continue;
      const cause = reader.reset === "slow" ? "evicted" : "shutdown";
      assertEquals(events[1]?.cause, cause);
    }
  }

  #judgeMetrics(): void {
    const { verdicts, departures, lagNotices, lagMissed } = this.hub.metrics();
    const sum = (counts: Readonly<Record<string, number>>): number =>
      Object.values(counts).reduce((total, count) => total + count, 0);
    assertEquals([sum(verdicts), sum(departures)], [this.#clients.length, this.#clients.length]);
    const lags = this.#clients.reduce((total, { reader }) => total + reader.lags, 0);
    const missed = this.#clients.reduce((total, { reader }) => total + reader.missed, 0);
    // A notice may have been cut off with its client, so it was counted and not read.
    assert(lagNotices >= lags && lagMissed >= missed);
  }
}

function endsWhole(chunks: readonly Uint8Array[]): boolean {
  // The last byte may have had a chunk to itself.
  const end = chunks.slice(-2).flatMap((chunk) => [...chunk.subarray(-2)]).slice(-2);
  return end.length === 0 || (end[0] === 10 && end[1] === 10);
}
