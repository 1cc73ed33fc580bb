import { assert, assertEquals } from "@std/assert";
import { DigestStatusError, RefusedError } from "../../../../src/errors.ts";
import type { LifecycleRecord } from "../../../../src/client/records.ts";
import { TabCore } from "../../../../src/client/tabs/core.ts";
import { Link } from "../../../../src/client/tabs/link.ts";
import type { TabOptions } from "../../../../src/client/tabs/types.ts";
import { PROTOCOL, type ToHost, type ToTab } from "../../../../src/client/worker/protocol.ts";
import { test } from "../../../support/test.ts";
import { Owner, settle, SimClock } from "./sim/clock.ts";
import { cursorOf, EPOCH, frameOf } from "./sim/scripted.ts";

/** A tab's line, with a test at the other end. */
class Line {
  readonly clock = new SimClock();
  readonly sent: ToHost[] = [];
  readonly seen: string[] = [];
  readonly records: LifecycleRecord[] = [];
  readonly silences: number[] = [];
  readonly core: TabCore;
  readonly link: Link;
  closed = false;
  #receive: (data: unknown) => void = () => {};

  constructor(options: Partial<TabOptions> = {}) {
    this.core = new TabCore({
      url: "http://line/events",
      clock: this.clock.of(new Owner()),
      onFrame: ({ data }) => void this.seen.push(data),
      onLifecycle: (record) => void this.records.push(record),
      ...options,
    });
    this.link = new Link(this.core, (receive) => {
      this.#receive = receive;
      return {
        send: (message) => void this.sent.push(message),
        close: () => void (this.closed = true),
      };
    }, { silent: (ms) => void this.silences.push(ms), welcomed() {} });
  }

  say(message: ToTab): void {
    this.#receive(message);
  }

  welcome(boot = "b", given: Partial<Extract<ToTab, { kind: "welcome" }>> = {}): void {
    this.say({
      ...{ kind: "welcome", v: PROTOCOL, boot, seq: 0, cursor: "", state: "open", epoch: EPOCH },
      ...{ generation: 1, doubt: false },
      ...given,
    });
  }

  frames(first: number, count = 1): void {
    const frames = Array.from({ length: count }, (_, i) => frameOf(first + i));
    this.say({ kind: "frames", seq: first, frames });
  }

  /** What was sent of one kind. */
  all<K extends ToHost["kind"]>(kind: K): Extract<ToHost, { kind: K }>[] {
    return this.sent.filter((message): message is Extract<ToHost, { kind: K }> =>
      message.kind === kind
    );
  }
}

test("a tab says first who it is and where it stands", () => {
  const line = new Line({ tag: "profile", cursor: cursorOf(4) });
  assertEquals(line.sent, [{
    ...{ kind: "attach", v: PROTOCOL, tab: line.core.id, cursor: cursorOf(4), start: true },
    ...{ repair: false, owed: false, visible: true, online: true, tag: "profile" },
    url: "http://line/events",
  }]);
});

test("before it is taken in a tab believes nothing that a host says", () => {
  const line = new Line();
  line.frames(1);
  line.say({ kind: "beat", cursor: cursorOf(3), ask: true });
  line.say({ kind: "ask", ask: 1, want: "url", attempt: 0 });
  assertEquals([line.seen, line.core.inbox.cursor, line.sent.length], [[], "", 1]);
  line.welcome();
  line.frames(1);
  assertEquals(line.seen, ["1"]);
});

test("a host that was restarted is told anew; one that gave the tab up, that it owes a revalidation", () => {
  const line = new Line();
  line.welcome();
  line.frames(1);
  line.say({ kind: "who", v: PROTOCOL, boot: "c" });
  line.welcome("c", { cursor: cursorOf(1) });
  line.say({ kind: "who", v: PROTOCOL, boot: "c" });
  assertEquals(line.all("attach").map(({ cursor, repair, owed }) => [cursor, repair, owed]), [
    ...[["", false, true], [cursorOf(1), false, false], [cursorOf(1), true, true]],
  ]);
  // What the host had sent before is not believed any more.
  line.frames(2);
  assertEquals(line.seen, ["1"]);
});

test("a tab that was given up revalidates in full, though its cursor shows no gap", async () => {
  const runs: boolean[] = [];
  const line = new Line({ revalidate: ({ full }) => void runs.push(full) });
  line.welcome("b", { cursor: cursorOf(1) });
  await settle();
  line.say({ kind: "who", v: PROTOCOL, boot: "b" });
  line.welcome("b", { cursor: cursorOf(1) });
  assertEquals(runs, [true, true]);
});

test("a hole in the numbers is noticed, and the tab attaches anew as one that was given up", () => {
  const line = new Line();
  line.welcome();
  line.frames(1);
  line.frames(3);
  assertEquals(line.seen, ["1"]);
  assertEquals(line.all("attach").at(-1)?.repair, true);
});

test("frames are acknowledged with the beat, and in between when there are many", async () => {
  const line = new Line();
  line.welcome();
  line.frames(1, 255);
  assertEquals(line.all("beat").length, 0);
  line.frames(256);
  assertEquals(line.all("beat").map(({ ack, ask }) => [ack, ask]), [[256, false]]);
  line.frames(257);
  await line.clock.advance(5000);
  assertEquals(line.all("beat").map(({ ack, ask }) => [ack, ask]), [[256, false], [257, true]]);
});

test("frames that wait for a revalidation are not acknowledged", async () => {
  let done = (): void => {};
  const line = new Line({ revalidate: () => new Promise((resolve) => done = resolve) });
  line.welcome();
  line.frames(1, 300);
  await line.clock.advance(5000);
  assertEquals(line.all("beat").at(-1)?.ack, 0);
  done();
  await settle();
  assertEquals([line.seen.length, line.all("beat").at(-1)?.ack], [300, 300]);
});

test("a question of the host for a sign of life is answered at once", () => {
  const line = new Line();
  line.welcome();
  line.say({ kind: "beat", cursor: "", ask: true });
  assertEquals(line.all("beat").map(({ ask }) => ask), [false]);
});

test("a host that is silent for three beats is reported at each beat, until it is heard", async () => {
  const line = new Line();
  line.welcome();
  await line.clock.advance(14_999);
  assertEquals(line.silences, []);
  await line.clock.advance(10_000);
  assertEquals(line.silences, [15_000, 20_000]);
  line.say({ kind: "beat", cursor: "", ask: false });
  await line.clock.advance(10_000);
  assertEquals(line.silences.length, 2);
  assertEquals(line.link.silent, false);
});

test("what no version of this protocol says is no sign of life", async () => {
  const line = new Line();
  line.welcome();
  for (let beat = 0; beat < 3; beat++) {
    await line.clock.advance(5000);
    line.say({ kind: "later", v: PROTOCOL + 1 } as unknown as ToTab);
  }
  assertEquals(line.link.silent, true);
});

test("a tab that is stopped does not ask for a start when it attaches anew", () => {
  const line = new Line();
  line.welcome("b", { state: "stopped" });
  line.say({ kind: "who", v: PROTOCOL, boot: "c" });
  assertEquals(line.all("attach").map(({ start }) => start), [true, false]);
});

test("an answer goes to the host that has asked, and to no other", async () => {
  let done = (): void => {};
  const line = new Line({ revalidate: () => new Promise((resolve) => done = resolve) });
  line.welcome();
  done();
  await settle();
  line.say({
    ...{ kind: "revalidate", ask: 7, cause: "hello", epoch: EPOCH, generation: 1, full: false },
    ...{ topics: null, changed: null, removed: null },
  });
  line.say({ kind: "who", v: PROTOCOL, boot: "c" });
  line.welcome("c");
  done();
  await settle();
  assertEquals(line.all("answer"), []);
});

test("a revalidation's end is answered, and a digest's 401 is told", async () => {
  const errors: unknown[] = [null, null, new Error("no"), new DigestStatusError(401)];
  const line = new Line({
    revalidate() {
      const error = errors.shift();
      if (error !== null) throw error;
    },
  });
  line.welcome();
  for (const ask of [1, 2, 3]) {
    line.say({
      ...{ kind: "revalidate", ask, cause: "hello", epoch: EPOCH, generation: 1, full: false },
      ...{ topics: null, changed: null, removed: null },
    });
  }
  await settle();
  assertEquals<unknown>(line.all("answer").map(({ ask, fault }) => [ask, fault]), [
    ...[[1, null], [2, null], [3, "unauthorized"]],
  ]);
});

test("a tab answers for its address and headers, at once, and says when it cannot", async () => {
  const failures: unknown[] = [null, new RefusedError(), new Error("no")];
  const line = new Line({
    // Which never ends.
    revalidate: () => new Promise(() => {}),
    url: ({ attempt }) => {
      const failure = failures.shift();
      if (failure !== null) throw failure;
      return new URL(`http://line/events?attempt=${attempt}`);
    },
    headers: () => Promise.resolve({ "X-Token": "t" }),
  });
  line.welcome();
  assertEquals(line.all("attach")[0]?.url, null);
  line.say({ kind: "ask", ask: 1, want: "headers", attempt: 0 });
  for (const ask of [2, 3, 4]) line.say({ kind: "ask", ask, want: "url", attempt: 5 });
  await settle();
  const answers = line.all("answer").sort((a, b) => a.ask - b.ask);
  assertEquals<unknown>(answers.map(({ ask, value, fault }) => [ask, value, fault]), [
    [1, { "X-Token": "t" }, null],
    [2, "http://line/events?attempt=5", null],
    [3, null, "refused"],
    [4, null, null],
  ]);
});

test("headers are read afresh for each question", async () => {
  const headers: Record<string, string> = { "X-Token": "old" };
  const line = new Line({ headers });
  line.welcome();
  headers["X-Token"] = "new";
  line.say({ kind: "ask", ask: 1, want: "headers", attempt: 0 });
  await settle();
  assertEquals(line.all("answer")[0]?.value, { "X-Token": "new" });
});

test("an address that the host no longer waits for is given up", async () => {
  const signals: AbortSignal[] = [];
  const line = new Line({
    url: ({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    },
  });
  line.welcome();
  line.say({ kind: "ask", ask: 1, want: "url", attempt: 0 });
  await settle();
  assertEquals(signals.map(({ aborted }) => aborted), [false]);
  line.say({ kind: "abort", ask: 1 });
  assertEquals(signals.map(({ aborted }) => aborted), [true]);
});

test("a revalidation that its host gave up is made good by the tab, when that host goes", async () => {
  let runs = 0;
  const line = new Line({
    revalidate({ signal }) {
      if (runs++ === 0) return;
      return new Promise((_, reject) => signal.addEventListener("abort", reject));
    },
  });
  line.welcome();
  await settle();
  line.say({
    ...{ kind: "revalidate", ask: 1, cause: "visible", epoch: EPOCH, generation: 1, full: false },
    ...{ topics: null, changed: null, removed: null },
  });
  line.say({ kind: "abort", ask: 1 });
  await settle();
  line.say({ kind: "who", v: PROTOCOL, boot: "c" });
  assert(line.all("attach").at(-1)?.owed);
  line.welcome("c");
  assertEquals(runs, 3);
});

test("a line that is closed says its last word, and then neither speaks nor hears", async () => {
  const line = new Line();
  line.welcome();
  line.link.close("pagehide");
  line.frames(1);
  line.link.beat(true);
  await line.clock.advance(60_000);
  assertEquals(line.sent.at(-1), { kind: "detach", reason: "pagehide" });
  assertEquals([line.seen, line.silences, line.closed], [[], [], true]);
});
