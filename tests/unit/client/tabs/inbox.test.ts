import { assert, assertEquals } from "@std/assert";
import { DigestStatusError } from "../../../../src/errors.ts";
import type { LifecycleRecord } from "../../../../src/client/records.ts";
import { type Failure, Inbox, type RunRequest } from "../../../../src/client/tabs/inbox.ts";
import type { TabRevalidateContext } from "../../../../src/client/tabs/types.ts";
import { test } from "../../../support/test.ts";
import { Owner, settle, SimClock } from "./sim/clock.ts";
import { cursorOf, EPOCH, frameOf } from "./sim/scripted.ts";

const TIMEOUT_MS = 30_000;
const OTHER = "00000000000000bb";

/** A revalidation under way. */
interface Run {
  readonly context: TabRevalidateContext;
  resolve(): void;
  reject(error: unknown): void;
}

class Bench {
  readonly clock = new SimClock();
  readonly records: LifecycleRecord[] = [];
  readonly seen: string[] = [];
  readonly runs: Run[] = [];
  readonly inbox: Inbox;
  onFrame: () => void = () => {};

  constructor(revalidates = true) {
    this.inbox = new Inbox({
      app: {
        onFrame: (frame) => {
          this.seen.push(frame.data);
          this.onFrame();
        },
        ...(revalidates
          ? {
            revalidate: (context: TabRevalidateContext) =>
              new Promise<void>((resolve, reject) => {
                this.runs.push({ context, resolve, reject });
              }),
          }
          : {}),
      },
      tell: (record) => void this.records.push(record),
      clock: this.clock.of(new Owner()),
      timeoutMs: TIMEOUT_MS,
    });
  }

  /** The last revalidation. */
  get run(): Run {
    const run = this.runs.at(-1);
    if (run === undefined) throw new Error("no revalidation runs");
    return run;
  }

  /** A tab that has come to rest on an open stream. */
  async rest(cursor = cursorOf(0)): Promise<this> {
    this.inbox.opened({ epoch: EPOCH, generation: 1 });
    this.inbox.begin(cursor, false, false);
    this.run.resolve();
    await settle();
    this.runs.length = this.records.length = 0;
    return this;
  }

  frames(...offsets: number[]): void {
    this.inbox.frames(offsets.map(frameOf), () => {});
  }

  request(given: Partial<RunRequest> = {}): {
    readonly controller: AbortController;
    readonly ended: (Failure | null)[];
  } {
    const controller = new AbortController();
    const ended: (Failure | null)[] = [];
    this.inbox.request(
      {
        ...{ kind: "revalidate", ask: 1, cause: "hello", epoch: EPOCH, generation: 1, full: false },
        ...{ topics: null, changed: [], removed: [] },
        ...given,
      },
      controller,
      (failure) => void ended.push(failure),
    );
    return { controller, ended };
  }
}

test("a new tab on an open stream revalidates in full before its first frame", async () => {
  const bench = new Bench();
  bench.inbox.opened({ epoch: EPOCH, generation: 3 });
  bench.inbox.begin(cursorOf(5), false, false);
  bench.frames(6, 7);
  const { cause, full, topics, changed, removed, epoch, generation } = bench.run.context;
  assertEquals([cause, full, topics, changed, removed, epoch, generation], [
    ...["hello", true, null, null, null, EPOCH, 3],
  ]);
  assertEquals(bench.seen, []);
  bench.run.resolve();
  await settle();
  assertEquals(bench.seen, ["6", "7"]);
  assertEquals(bench.inbox.cursor, cursorOf(7));
  assertEquals(bench.runs.length, 1);
  assertEquals(bench.records.map(({ kind }) => kind), ["revalidate", "revalidated"]);
});

test("a new tab on a stream that is not open runs with all others after the first hello, once", async () => {
  const bench = new Bench();
  bench.inbox.begin("", false, false);
  assertEquals(bench.runs.length, 0);
  bench.inbox.opened({ epoch: EPOCH, generation: 1 });
  bench.inbox.connected(false, false);
  assertEquals(bench.runs.length, 0);
  bench.request();
  assertEquals(bench.run.context.full, true);
  bench.run.resolve();
  await settle();
  bench.inbox.connected(false, true);
  assertEquals(bench.runs.length, 1);
});

test("a tab that owes a revalidation runs it alone when the stream resumes", async () => {
  const bench = new Bench();
  bench.inbox.begin("", false, false);
  bench.inbox.opened({ epoch: EPOCH, generation: 1 });
  bench.inbox.connected(false, true);
  assertEquals(bench.runs.length, 1);
  bench.run.reject(new Error("no"));
  await settle();
  assertEquals(bench.records.at(-1)?.kind, "revalidate_failed");
  bench.inbox.connected(false, true);
  assertEquals(bench.runs.length, 2);
});

test("a tab without a revalidation of its own owes none", () => {
  const bench = new Bench(false);
  bench.inbox.opened({ epoch: EPOCH, generation: 1 });
  bench.inbox.begin(cursorOf(5), false, false);
  bench.frames(6);
  assertEquals(bench.seen, ["6"]);
  assertEquals(bench.records, []);
});

test("a tab that goes on where its new host begins misses nothing, and revalidates nothing", async () => {
  const bench = await new Bench().rest(cursorOf(5));
  bench.inbox.begin(cursorOf(5), false, false);
  bench.frames(6);
  assertEquals([bench.runs.length, bench.seen], [0, ["6"]]);
});

test("what a host that is behind brings again is dropped, and said so", async () => {
  const bench = await new Bench().rest(cursorOf(5));
  bench.frames(6, 7);
  bench.inbox.begin(cursorOf(5), false, false);
  bench.frames(6, 7, 8);
  assertEquals(bench.seen, ["6", "7", "8"]);
  assertEquals(bench.records.map(({ kind }) => kind), ["duplicate_frame", "duplicate_frame"]);
  assertEquals(bench.runs.length, 0);
});

test("a host that is behind does not take the tab's cursor back", async () => {
  const bench = await new Bench().rest(cursorOf(5));
  bench.frames(6, 7);
  bench.inbox.begin(cursorOf(5), false, false);
  bench.inbox.reached(cursorOf(6));
  assertEquals(bench.inbox.cursor, cursorOf(7));
  bench.inbox.reached(cursorOf(9));
  assertEquals(bench.inbox.cursor, cursorOf(9));
});

test("a host that is ahead, or of another epoch, makes the tab revalidate in full", async () => {
  for (const cursor of [cursorOf(6), `${OTHER}:1`]) {
    const bench = await new Bench().rest(cursorOf(5));
    bench.inbox.begin(cursor, true, false);
    assertEquals([bench.runs.length, bench.run.context.full], [1, true]);
    assertEquals(bench.inbox.cursor, cursor);
  }
});

test("what was delivered under an epoch is not delivered again when a host comes from an older one", async () => {
  const bench = await new Bench().rest(cursorOf(5));
  bench.frames(6);
  bench.inbox.begin(`${OTHER}:1`, false, false);
  bench.run.resolve();
  await settle();
  bench.inbox.begin(`${OTHER}:1`, true, false);
  bench.frames(6, 7);
  assertEquals(bench.seen, ["6", "7"]);
});

test("a server that lost its newest frames may issue their numbers anew", async () => {
  const bench = await new Bench().rest(cursorOf(5));
  bench.frames(6, 7);
  bench.inbox.begin(cursorOf(5), false, false);
  bench.inbox.connected(true, false);
  bench.frames(6);
  assertEquals(bench.seen, ["6", "7", "6"]);
});

test("a tab that missed something revalidates though its cursor shows no gap", async () => {
  const bench = await new Bench().rest(cursorOf(5));
  bench.inbox.begin(cursorOf(5), true, true);
  assertEquals(bench.run.context.full, true);
});

test("after a change of hosts the next revalidation is a full one, for the map knows no stamp of this tab", async () => {
  const bench = await new Bench().rest(cursorOf(5));
  bench.inbox.begin(cursorOf(5), true, false);
  bench.request();
  assertEquals([bench.run.context.full, bench.run.context.changed], [false, []]);
  bench.run.resolve();
  await settle();
  bench.inbox.begin(cursorOf(5), false, false);
  assertEquals(bench.runs.length, 1);
  bench.request();
  assertEquals([bench.run.context.full, bench.run.context.changed], [true, null]);
});

test("a tab that owes a revalidation gets a gap of one topic as one of everything", async () => {
  const bench = await new Bench().rest();
  bench.request({ cause: "topic_gap", topics: ["a"] });
  assertEquals(bench.run.context.topics, ["a"]);
  bench.run.reject(new Error("no"));
  await settle();
  bench.request({ cause: "topic_gap", topics: ["a"] });
  assertEquals([bench.run.context.topics, bench.run.context.full], [null, true]);
});

test("frames, cursors and requests wait for the revalidation before them, in order", async () => {
  const bench = await new Bench().rest();
  const first = bench.request();
  bench.frames(1);
  bench.inbox.reached(cursorOf(4));
  const second = bench.request();
  bench.frames(5);
  assertEquals([bench.runs.length, bench.seen, bench.inbox.cursor], [1, [], cursorOf(0)]);
  bench.run.resolve();
  await settle();
  assertEquals([bench.runs.length, bench.seen, bench.inbox.cursor], [2, ["1"], cursorOf(4)]);
  assertEquals([first.ended, second.ended], [[null], []]);
  bench.run.resolve();
  await settle();
  assertEquals([bench.seen, second.ended], [["1", "5"], [null]]);
});

test("what a revalidation throws is answered and recorded, and frames go on", async () => {
  const bench = await new Bench().rest();
  const { ended } = bench.request();
  bench.frames(1);
  const error = new DigestStatusError(401);
  bench.run.reject(error);
  await settle();
  assertEquals(ended, [{ error }]);
  assertEquals(bench.records, [{ kind: "revalidate_failed", cause: "hello", error }]);
  assertEquals(bench.seen, ["1"]);
});

test("a revalidation that takes too long is aborted, answered and recorded", async () => {
  const bench = await new Bench().rest();
  const { ended } = bench.request();
  bench.frames(1);
  await bench.clock.advance(TIMEOUT_MS - 1);
  assertEquals([ended.length, bench.run.context.signal.aborted], [0, false]);
  await bench.clock.advance(1);
  assertEquals([ended.length, bench.run.context.signal.aborted], [1, true]);
  assertEquals(bench.records, [{ kind: "revalidate_timeout", cause: "hello" }]);
  bench.run.reject(new Error("aborted"));
  await settle();
  assertEquals([bench.seen, bench.records.length, ended.length], [["1"], 1, 1]);
});

test("a request that its host gives up is aborted and answered, and owes nothing by itself", async () => {
  const bench = await new Bench().rest();
  const { controller, ended } = bench.request();
  bench.frames(1);
  controller.abort();
  await settle();
  assertEquals([ended.length, bench.seen], [1, []]);
  bench.run.reject(new Error("aborted"));
  await settle();
  assertEquals([bench.seen, bench.records], [["1"], []]);
  bench.inbox.connected(false, true);
  assertEquals(bench.runs.length, 1);
});

test("what a tab owed before, it owes after a request that was given up", async () => {
  const bench = new Bench();
  bench.inbox.begin("", false, false);
  const { controller } = bench.request();
  controller.abort();
  bench.run.reject(new Error("aborted"));
  await settle();
  bench.inbox.opened({ epoch: EPOCH, generation: 2 });
  bench.inbox.connected(false, true);
  assertEquals(bench.runs.length, 2);
});

test("a request that was given up before its turn is not run", async () => {
  const bench = await new Bench().rest();
  bench.request();
  const { controller, ended } = bench.request();
  controller.abort();
  bench.run.resolve();
  await settle();
  assertEquals([bench.runs.length, ended], [1, []]);
});

test("two revalidations never run at once, unless one does not heed its signal for as long again", async () => {
  const bench = await new Bench().rest();
  const { controller } = bench.request();
  bench.request();
  controller.abort();
  await bench.clock.advance(TIMEOUT_MS - 1);
  assertEquals(bench.runs.length, 1);
  await bench.clock.advance(1);
  assertEquals(bench.runs.length, 2);
});

test("a frame that the application refuses moves the cursor and makes the tab revalidate", async () => {
  const bench = await new Bench().rest();
  bench.onFrame = () => {
    bench.onFrame = () => {};
    throw new Error("no");
  };
  bench.frames(1, 2);
  assertEquals(bench.inbox.cursor, cursorOf(2));
  assertEquals(bench.records.map(({ kind }) => kind), ["frame_rejected", "revalidate"]);
  assertEquals(bench.run.context.full, true);
});

test("a tab that was given up loses what waits, and revalidates", async () => {
  const bench = await new Bench().rest(cursorOf(5));
  bench.request();
  bench.frames(6);
  bench.inbox.lose();
  bench.inbox.begin(cursorOf(5), true, false);
  bench.run.resolve();
  await settle();
  assertEquals([bench.seen, bench.runs.length, bench.run.context.full], [[], 2, true]);
});

test("a page that is left in the middle of a revalidation owes it when it comes back", async () => {
  const bench = await new Bench().rest(cursorOf(5));
  bench.request();
  bench.frames(6);
  bench.inbox.leave();
  assert(bench.run.context.signal.aborted);
  bench.run.reject(new Error("aborted"));
  await settle();
  assertEquals([bench.seen, bench.records], [[], []]);
  bench.inbox.opened({ epoch: EPOCH, generation: 2 });
  bench.inbox.begin(cursorOf(5), true, false);
  assertEquals(bench.runs.length, 2);
});

test("a page that is left at rest owes nothing", async () => {
  const bench = await new Bench().rest(cursorOf(5));
  bench.inbox.leave();
  bench.inbox.opened({ epoch: EPOCH, generation: 2 });
  bench.inbox.begin(cursorOf(5), true, false);
  assertEquals(bench.runs.length, 0);
});

test("a tab that detaches in a frame gets no other of the same burst", async () => {
  const bench = await new Bench().rest();
  bench.onFrame = () => bench.inbox.close();
  bench.frames(1, 2);
  bench.frames(3);
  assertEquals(bench.seen, ["1"]);
});
