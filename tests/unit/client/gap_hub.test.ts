import { assert, assertEquals } from "@std/assert";
import type { LifecycleRecord } from "../../../src/client/records.ts";
import { createStream } from "../../../src/client/stream.ts";
import type { Stream, StreamOptions } from "../../../src/client/types.ts";
import { createHub } from "../../../src/hub/hub.ts";
import type { Hub, ServeOptions } from "../../../src/hub/types.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { Lines, RING } from "../hub/harness.ts";
import { PROMPT } from "./puppet_server.ts";

/** A hub whose time stands still, one stream of it, and all that the stream says. */
class Told {
  readonly clock = new FakeClock();
  readonly hub: Hub = createHub({
    clock: this.clock,
    logger: new Lines(),
    reconnectDelayMs: 1,
    replay: RING,
  });
  readonly records: LifecycleRecord[] = [];
  readonly data: string[] = [];
  readonly lags: unknown[] = [];
  readonly runs: string[] = [];
  /** The cursors that were presented. */
  readonly presented: (string | null)[] = [];
  readonly stream: Stream;

  /** @param options Of the client; `serve` of the hub, `deaf` when the way there drops headers. */
  constructor(
    options: Partial<StreamOptions> & { serve?: () => ServeOptions; deaf?: boolean } = {},
  ) {
    const { serve, deaf, ...own } = options;
    this.stream = createStream({
      url: "http://hub.test/",
      clock: PROMPT,
      fetch: (input, init) => {
        const request = new Request(input, init);
        if (deaf === true) request.headers.delete("SSE-Lag");
        this.presented.push(request.headers.get("Last-Event-ID"));
        return Promise.resolve(this.hub.serve(request, serve?.()));
      },
      onFrame: ({ data }) => void this.data.push(data),
      onLag: (lag) => void this.lags.push(lag),
      revalidate: ({ cause }) => void this.runs.push(cause),
      onLifecycle: (record) => void this.records.push(record),
      ...own,
    });
    this.stream.start();
  }

  of<K extends LifecycleRecord["kind"]>(kind: K): Extract<LifecycleRecord, { kind: K }>[] {
    return this.records.filter((record): record is Extract<LifecycleRecord, { kind: K }> =>
      record.kind === kind
    );
  }

  cursor(offset: number): string {
    return `${this.hub.position().epoch}:${offset}`;
  }

  async hellos(count: number): Promise<void> {
    await this.until(() => this.of("hello").length === count, `${count} hellos`);
  }

  async until(check: () => boolean, what: string): Promise<void> {
    await eventually(check, { what, everyMs: 1 });
  }

  async close(): Promise<void> {
    this.stream.stop();
    await this.hub.shutdown();
  }
}

test("events lost between pods are told with no number, revalidated once, and the stream goes on", async () => {
  const told = new Told();
  await told.hellos(1);
  told.hub.publish({ data: "1" });
  await told.until(() => told.runs.length === 1 && told.data.length === 1, "the first run");
  told.hub.gap();
  told.hub.publish({ data: "3" });
  await told.until(() => told.runs.length === 2 && told.data.length === 2, "the second run");
  await told.until(() => told.stream.cursor() === told.cursor(3), "the cursor behind the gap");
  assertEquals(told.lags, [{ missed: null, from: told.cursor(1), to: told.cursor(2) }]);
  assertEquals([told.runs, told.data], [["hello", "lag"], ["1", "3"]]);
  assertEquals([told.of("hello").length, told.of("disconnected").length], [1, 0]);
  await told.close();
});

test("sent away because it could not be told, a client comes back from before the gap and revalidates", async () => {
  const told = new Told({ deaf: true });
  await told.hellos(1);
  told.hub.publish({ data: "1" });
  await told.until(() => told.data.length === 1, "the first event");
  told.hub.gap();
  await told.hellos(2);
  await told.until(() => told.runs.length === 2, "the second run");
  assertEquals(told.of("reset").map(({ reason }) => reason), ["shutdown"]);
  assertEquals(told.presented, [null, told.cursor(1)]);
  assertEquals(told.of("hello").map(({ verdict }) => verdict), ["fresh", "gap_floor"]);
  assertEquals(told.runs, ["hello", "hello"]);
  await told.close();
});

test("what a client gets without ids, until it is sent away, does not move its cursor past the gap", async () => {
  const told = new Told({ deaf: true });
  // Who came first is sent away at once; it has a while then.
  const first = told.hub.serve(new Request("http://hub.test/"));
  await told.hellos(1);
  told.hub.publish({ data: "1" });
  await told.until(() => told.data.length === 1, "the first event");
  await told.until(() => told.stream.cursor() === told.cursor(1), "its cursor");
  told.hub.gap({ spreadMs: 1000 });
  told.hub.publish({ data: "3" });
  await told.until(() => told.data.length === 2, "the event behind the gap");
  assertEquals([told.stream.cursor(), told.of("hello").length], [told.cursor(1), 1]);
  told.clock.advance(2000);
  await told.hellos(2);
  assertEquals([told.presented.at(-1), told.data], [told.cursor(1), ["1", "3"]]);
  assertEquals(told.of("hello").at(-1)?.verdict, "gap_floor");
  await first.body?.cancel();
  await told.close();
});

test("that its authority ends is a record; then it asks for a fresh address, and misses nothing", async () => {
  let tickets = 0;
  const told: Told = new Told({
    url: () => Promise.resolve(`http://hub.test/?ticket=${++tickets}`),
    serve: () => ({ expiresAt: told.clock.now() + 90_000 }),
  });
  await told.hellos(1);
  told.hub.publish({ data: "1" });
  await told.until(() => told.data.length === 1, "the first event");
  for (let s = 0; s < 90; s++) {
    told.clock.advance(1000);
    await Promise.resolve();
  }
  assertEquals(told.hub.clientCount, 0);
  told.hub.publish({ data: "2" });
  await told.hellos(2);
  await told.until(() => told.data.length === 2, "the event that it missed");
  const [notice, ...more] = told.of("expiring");
  assert(notice !== undefined && more.length === 0);
  assertEquals([notice.inMs, told.of("disconnected").at(0)?.reason], [60_000, "ended"]);
  assertEquals([tickets, told.data, told.of("reset")], [2, ["1", "2"], []]);
  assertEquals(told.of("hello").at(-1)?.verdict, "resumed");
  await told.close();
});
