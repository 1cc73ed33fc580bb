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
import { endsWhole, judgeMetrics, judgePresence } from "./hub_accounts.ts";
import type { Step, Tally, WorldOptions } from "./schedule.ts";

interface Client {
  readonly sink: RecordingSink;
  readonly reader: Reader;
  readonly open: () => void;
  readonly declaresLag: boolean;
  /** Whether its runtime has taken every chunk at once, always. */
  eager: boolean;
  /** Whether the test ended it. */
  gone: boolean;
  /** By when it must have been sent away, on the monotonic clock, for it cannot be told of a gap. */
  awayBy: number;
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
  /** When a drain has stopped taking newcomers, and by when it has sent everybody away. */
  #leaving = { from: Infinity, by: Infinity };
  /** Whether the schedule is over, and the hub shut down at once. */
  #finishing = false;

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
      case "gap":
        this.#gap(step.spreadMs);
        break;
      case "drain":
        this.#drain(step);
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
    if (step.do === "wait" || step.do === "turn") this.#judgeEager();
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
      tally.gaps += reader.gaps;
      tally.withheld += reader.withheld;
      tally.hooked += reader.hooks;
    }
  }

  /** Lets every client that is left take everything, and judges that nothing is missing. */
  async finish(): Promise<void> {
    this.#finishing = true;
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
    const readers = this.#clients.map(({ reader }) => reader);
    judgePresence(readers, this.#presence);
    judgeMetrics(readers, this.hub.metrics(), this.#history.gaps);
  }

  #publish({ topic, size, ephemeral }: Extract<Step, { do: "publish" }>): void {
    const data = `${this.#published++}:${topic}:${"x".repeat(size)}`;
    const name = ephemeral ? EPHEMERAL : "durable";
    this.#burst += size + 200;
    const offset = this.hub.publish({ topic, name, data, ephemeral });
    if (ephemeral || this.hub.state === "stopped") return assertEquals(offset, 0);
    const bytes = size + 100;
    const event = this.#history.publish({ topic, name, data, bytes, born: this.clock.monotonic() });
    assertEquals(offset, event.offset);
  }

  #gap(spreadMs: number): void {
    const offset = this.hub.gap({ spreadMs });
    if (this.hub.state === "stopped") return assertEquals(offset, 0);
    const now = this.clock.monotonic();
    assertEquals(offset, this.#history.gap(now).offset, "a gap takes one offset");
    for (const client of this.#clients) {
      if (!client.declaresLag) client.awayBy = Math.min(client.awayBy, now + spreadMs + TICKS_MS);
    }
  }

  #drain({ lameDuckMs, spreadMs }: Extract<Step, { do: "drain" }>): void {
    void this.hub.drain({ lameDuckMs, spreadMs });
    if (this.#leaving.from !== Infinity) return;
    const from = this.clock.monotonic() + lameDuckMs;
    this.#leaving = { from, by: from + spreadMs + 2 * TICKS_MS };
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
      declaresLag: lag,
      maySkip: lag && this.#options.slow === "lag",
      start: verdict === "resumed" ? Number(presented.split(":")[1]) : head,
      published: this.#published,
    };
    const response = this.hub.serve(new Request("http://localhost/", { headers }), {
      ...(topics !== null && { topics }),
      ...(hook !== "none" && { onConnect }),
    });
    const late = this.hub.state === "draining" || this.hub.state === "stopped";
    assertEquals(response.status, late ? 503 : 200, "one that leaves takes no newcomers");
    if (late) return;
    const reader = new Reader(this.#history, expected);
    const sink = RecordingSink.for(response, ready);
    const eager = ready && hook === "none";
    this.#clients.push({
      ...{ sink, reader, open, eager, declaresLag: lag, gone: false, awayBy: Infinity },
    });
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
    for (const { sink, reader, eager, awayBy } of this.#clients) {
      assertEquals(sink.overruns, 0, "a sink that said no, or that ended, is not written to");
      reader.read(sink.chunks);
      if (sink.ended) assert(endsWhole(sink.chunks), "an orderly end never cuts a frame");
      if (eager && this.#burst < BUFFER_BYTES / 2) {
        assert(reader.reset !== "slow", "a client that takes everything is never slow");
      }
      if (this.#leaving.from === Infinity || reader.retries.length > 0) {
        assertEquals(reader.retries, this.#leaving.from === Infinity ? [] : [1000]);
      }
      const drained = reader.reset === "shutdown" && awayBy === Infinity && !this.#finishing;
      if (drained) assertEquals(reader.retries, [1000], "who is drained waits a second");
    }
  }

  /** What those whose runtime takes everything must have, once the promises have settled. */
  #judgeEager(): void {
    const now = this.clock.monotonic();
    const { from, by } = this.#leaving;
    if (now < from) assert(["serving", "lame_duck"].includes(this.hub.state));
    if (now > from + TICKS_MS) assert(["draining", "stopped"].includes(this.hub.state));
    for (const { sink, reader, eager, gone, awayBy } of this.#clients) {
      if (gone || !eager) continue;
      if (sink.ended) continue;
      assert(reader.complete, "who takes everything has everything");
      assert(now <= awayBy && now <= by, "who must be sent away is, in time");
    }
  }
}
