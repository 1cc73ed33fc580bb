import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { frames } from "../../../src/client/frames.ts";
import type { Fetch } from "../../../src/client/types.ts";
import { createHub } from "../../../src/hub/hub.ts";
import type { Hub } from "../../../src/hub/types.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { Lines } from "../hub/harness.ts";
import { PROMPT } from "./puppet_server.ts";

/** The way to a hub, which can be cut. */
class Wire {
  readonly #hub: Hub;
  #cut = (): void => {};
  /** How many connections there were. */
  connections = 0;

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  readonly fetch: Fetch = (input, init) => {
    const response = this.#hub.serve(new Request(input, init));
    const reader = response.body?.getReader();
    if (reader === undefined) throw new Error("A hub's answer has a body");
    this.connections++;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#cut = () => {
          controller.error(new TypeError("the connection was cut"));
          void reader.cancel();
          this.#cut = () => {};
        };
      },
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    }, { highWaterMark: 0 });
    return Promise.resolve(new Response(body, response));
  };

  /** Cuts the connection, if there is one. */
  cut(): void {
    this.#cut();
  }
}

type Command =
  | { readonly kind: "publish"; readonly count: number }
  | { readonly kind: "take"; readonly count: number }
  /** The connection goes, and so many events are published before there is another. */
  | { readonly kind: "cut"; readonly count: number };

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constant("publish" as const), count: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ kind: fc.constant("take" as const), count: fc.integer({ min: 1, max: 12 }) }),
  fc.record({ kind: fc.constant("cut" as const), count: fc.integer({ min: 0, max: 12 }) }),
);

/** Lets chunks flow until nobody moves. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}

/** What a loop got of a hub: which offsets, in order, and which gaps it was told. */
interface Account {
  readonly got: readonly number[];
  readonly gaps: readonly (readonly [from: number, to: number])[];
  readonly head: number;
  readonly reasons: readonly string[];
  readonly connections: number;
}

async function play(commands: readonly Command[], maxEvents: number): Promise<Account> {
  const clock = new FakeClock();
  const hub = createHub({
    clock,
    slow: "lag",
    logger: new Lines(),
    clientBuffer: 4,
    reconnectDelayMs: 1,
    replay: { maxEvents, ttlMs: 75_000 },
  });
  const wire = new Wire(hub);
  const ended = new AbortController();
  const got: number[] = [];
  const gaps: (readonly [number, number])[] = [];
  const reasons: string[] = [];
  let greeted = false;
  let permits = 0;
  let grant = (): void => {};
  const offset = (cursor: string): number => Number(cursor.slice(17));
  const reading = (async () => {
    const loop = frames("http://hub.test/", {
      fetch: wire.fetch,
      clock: PROMPT,
      signal: ended.signal,
      onLifecycle: ({ kind }) => void (greeted ||= kind === "hello"),
      onGap({ reason, from, to }) {
        reasons.push(reason);
        gaps.push([offset(from), offset(to)]);
      },
    });
    for await (const { id } of loop) {
      got.push(offset(id ?? ""));
      while (permits < got.length) await new Promise<void>((resolve) => void (grant = resolve));
    }
  })().catch((error) => {
    if (error !== ended.signal.reason) throw error;
  });
  await eventually(() => greeted, { what: "the first hello", everyMs: 1 });
  for (const each of commands) {
    if (each.kind === "cut") wire.cut();
    if (each.kind === "take") {
      permits += each.count;
      grant();
    }
    for (let i = 0; each.kind !== "take" && i < each.count; i++) {
      hub.publish({ data: "x" });
      // A burst may pass the buffer for a while.
      clock.advance(100);
      await Promise.resolve();
    }
    await settle();
  }
  permits = Infinity;
  grant();
  const { head } = hub.position();
  const known = (): number => got.length + gaps.reduce((sum, [from, to]) => sum + to - from, 0);
  await eventually(() => known() >= head, {
    what: `${head} events in ${JSON.stringify({ got, gaps })}`,
    everyMs: 1,
  });
  ended.abort();
  await reading;
  await hub.shutdown();
  return { got, gaps, head, reasons, connections: wire.connections };
}

test("every event reaches the loop exactly once and in order, or lies in a gap that it is told", async () => {
  const happened = new Set<string>();
  const run = async (commands: readonly Command[], maxEvents: number): Promise<void> => {
    const { got, gaps, head, reasons, connections } = await play(commands, maxEvents);
    const lost = gaps.flatMap(([from, to]) =>
      Array.from({ length: to - from }, (_, index) => from + 1 + index)
    );
    assertEquals(got, got.toSorted((a, b) => a - b));
    assertEquals(
      [...got, ...lost].sort((a, b) => a - b),
      Array.from({ length: head }, (_, index) => index + 1),
    );
    for (const reason of reasons) happened.add(reason);
    if (connections > 1 && gaps.length === 0) happened.add("resumed");
  };
  const some = (count: number): Command => ({ kind: "publish", count });
  await run([some(60), { kind: "take", count: 1 }], 6);
  await run([some(3), { kind: "take", count: 3 }, { kind: "cut", count: 20 }], 6);
  await run([some(3), { kind: "take", count: 3 }, { kind: "cut", count: 20 }], 500);
  // Each of the three ways was gone at least once.
  assertEquals([...happened].sort(), ["gap_floor", "lag", "resumed"]);
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 12 }), fc.constantFrom(6, 500), run),
    { numRuns: 40 },
  );
});
