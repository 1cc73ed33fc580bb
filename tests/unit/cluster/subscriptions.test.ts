import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createSubscriptions, type SubscribeCall } from "../../../src/cluster/subscriptions.ts";
import { ConfigError, TopicError } from "../../../src/errors.ts";
import { JournalError } from "../../../src/errors/journal.ts";
import { RelayError } from "../../../src/errors/relay.ts";
import { createHub } from "../../../src/hub/hub.ts";
import type { Message } from "../../../src/relay/envelope.ts";
import { test } from "../../support/test.ts";
import { Client, settle } from "../hub/harness.ts";
import { type Pod, RelayBench } from "./relay_bench.ts";

const WAIT_MS = 2000;

/** Two pods; ann's connection is on the second. */
interface Scene {
  readonly bench: RelayBench;
  readonly here: Pod;
  readonly there: Pod;
  readonly client: Client;
  readonly call: SubscribeCall;
}

async function scene(): Promise<Scene> {
  const bench = new RelayBench();
  const [here, there] = [await bench.pod("here"), await bench.pod("there")];
  const client = new Client(there.hub, { topics: ["account"], user: "ann" });
  const connection = client.hello.connection ?? "";
  return { bench, here, there, client, call: { connection, topic: "call:7", user: "ann" } };
}

/** How long a promise takes on the bench's clock, and what it gives. */
async function timed<T>(bench: RelayBench, promise: Promise<T>): Promise<[number, T | Error]> {
  const began = bench.clock.monotonic();
  let end: [number, T | Error] | null = null;
  promise.then(
    (value) => end = [bench.clock.monotonic() - began, value],
    (error) => end = [bench.clock.monotonic() - began, error],
  );
  await settle();
  for (let i = 0; i < 40 && end === null; i++) await bench.pass(250);
  assert(end !== null, "it never settled");
  return end;
}

const command = (fields: unknown): Message => ({
  ...{ kind: "command", id: "c".repeat(16) },
  body: new TextEncoder().encode(JSON.stringify(fields)),
});

test("any pod subscribes a connection, and gives what its topic said before", async () => {
  const { bench, here, there, client, call } = await scene();
  const subscriptions = createSubscriptions({ hub: here.hub, membership: here.membership });
  there.hub.publish({ topic: "call:7", data: "before" });
  const answer = await timed(bench, subscriptions.subscribe({ ...call, history: true }));
  assertEquals(answer, [0, { verdict: "fresh", head: 1 }]);
  here.hub.publish({ topic: "call:7", data: "after" });
  await settle();
  assertEquals(client.data, ["before", "after"]);

  assertEquals(await timed(bench, subscriptions.unsubscribe(call)), [0, true]);
  assertEquals(await timed(bench, subscriptions.unsubscribe(call)), [0, false]);
  here.hub.publish({ topic: "call:7", data: "no more" });
  await settle();
  assertEquals(client.data, ["before", "after"]);
  const { asked, timedOut } = here.membership.metrics();
  assertEquals([asked, timedOut, there.membership.metrics().answered], [3, 0, 3]);
  await bench.end(here, there);
});

test("the pod that holds the connection asks nobody", async () => {
  const { bench, here, there, client, call } = await scene();
  const subscriptions = createSubscriptions({ hub: there.hub, membership: there.membership });
  assertEquals(await subscriptions.subscribe(call), { verdict: "fresh", head: 0 });
  here.hub.publish({ topic: "call:7", data: "1" });
  await settle();
  assertEquals([client.data, there.membership.metrics().asked], [["1"], 0]);
  await bench.end(here, there);
});

test("a cursor is judged by the pod that holds the connection", async () => {
  const { bench, here, there, client, call } = await scene();
  const subscriptions = createSubscriptions({ hub: here.hub, membership: here.membership });
  for (const data of ["1", "2"]) there.hub.publish({ topic: "call:7", data });
  const { epoch } = there.hub.position();
  const after = `${epoch}:1`;
  assertEquals(await subscriptions.subscribe({ ...call, after }), { verdict: "resumed", head: 2 });
  await settle();
  assertEquals(client.data, ["2"]);
  const nonsense = await subscriptions.subscribe({ ...call, after: "x".repeat(9999) });
  assertEquals(nonsense?.verdict, "cursor_invalid");
  await bench.end(here, there);
});

test("a stranger's, an unknown and an unanswered connection cannot be told apart", async () => {
  const { bench, here, there, client, call } = await scene();
  const nobodys = new Client(here.hub, { topics: ["a"] }).hello.connection ?? "";
  const bobs = new Client(here.hub, { topics: ["a"], user: "bob" }).hello.connection ?? "";
  const subscriptions = createSubscriptions({ hub: here.hub, membership: here.membership });
  const calls: Record<string, SubscribeCall> = {
    "a stranger's, held there": { ...call, user: "eve" },
    "a stranger's, held here": { ...call, connection: bobs },
    "nobody's, held here": { ...call, connection: nobodys },
    "nobody's, asked for by nobody": { ...call, connection: nobodys, user: "" },
    "unknown": { ...call, connection: "0".repeat(32) },
    "empty": { ...call, connection: "" },
    "no id at all": { ...call, connection: `${"x".repeat(99_999)}\n` },
    "of a user with an endless name": { ...call, user: "x".repeat(99_999) },
  };
  for (const [name, one] of Object.entries(calls)) {
    assertEquals([name, await timed(bench, subscriptions.subscribe(one))], [name, [WAIT_MS, null]]);
    assertEquals(
      [name, await timed(bench, subscriptions.unsubscribe(one))],
      [name, [WAIT_MS, false]],
    );
  }
  bench.world.interrupt("there");
  assertEquals(await timed(bench, subscriptions.subscribe(call)), [WAIT_MS, null]);
  bench.world.restore("there");
  here.hub.publish({ topic: "call:7", data: "1" });
  await settle();
  assertEquals(client.data, []);
  // What no pod would obey is not sent, and waits all the same.
  assertEquals(here.membership.metrics().timedOut, 2 * 4 + 1);
  await bench.end(here, there);
});

test("without siblings a stranger's and an unknown connection are refused alike, at once", async () => {
  const hub = createHub();
  const { hello } = new Client(hub, { topics: ["a"], user: "ann" });
  const subscriptions = createSubscriptions({ hub });
  const call = { connection: hello.connection ?? "", topic: "b", user: "ann" };
  for (
    const one of [{ ...call, user: "eve" }, { ...call, user: "" }, { ...call, connection: "0" }]
  ) {
    assertEquals(await subscriptions.subscribe(one), null);
    assertEquals(await subscriptions.unsubscribe(one), false);
  }
  assertEquals(await subscriptions.subscribe(call), { verdict: "fresh", head: 0 });
  await hub.shutdown();
});

test("the holder believes no sibling: it asks its own hub whose the connection is", async () => {
  const { bench, here, there, client, call } = await scene();
  const stranger = bench.stranger("stranger");
  const subscribe = { do: "subscribe", ...call };
  for (
    const fields of [
      { ...subscribe, user: "eve" },
      { ...subscribe, user: "" },
      { ...subscribe, user: ["ann"] },
      { ...subscribe, topic: "" },
      { ...subscribe, topic: "a\u0000" },
      { ...subscribe, topic: "t".repeat(257) },
      { ...subscribe, connection: `${call.connection}\n` },
      { ...subscribe, history: { last: -1 } },
      { ...subscribe, history: { last: 1, sinceMs: 1 } },
      { ...subscribe, after: "nonsense" },
      { ...subscribe, do: "shutdown" },
      { do: "disconnect", user: "" },
      [subscribe],
      null,
    ]
  ) await stranger.say(command(fields));
  await stranger.say({ ...command(null), body: Uint8Array.of(0xff) } as Message);
  there.hub.publish({ topic: "call:7", data: "1" });
  await settle();
  assertEquals([client.data, client.sink.ended], [[], false]);
  assertEquals(there.membership.metrics().answered, 0);
  assertEquals(there.membership.metrics().malformed, 14);
  assertEquals(there.logger.lines.length, 1);
  assertEquals(bench.sent.filter(({ kind }) => kind === "reply"), []);

  await stranger.say(command(subscribe));
  assertEquals(there.membership.metrics().answered, 1, "the very same command, in ann's name");
  await bench.end(here, there);
});

test("an answer is for whoever asked, and for this question", async () => {
  const { bench, here, there, call } = await scene();
  const subscriptions = createSubscriptions({ hub: here.hub, membership: here.membership });
  const unknown = { ...call, connection: "0".repeat(32) };
  let answer: unknown = "none";
  void subscriptions.subscribe(unknown).then((value) => answer = value);
  await settle();
  const asked = bench.sent.findLast(({ kind }) => kind === "command");
  assert(asked?.kind === "command");
  const stranger = bench.stranger("stranger");
  const reply = (id: string, to: string, fields: unknown): Promise<void> =>
    stranger.say({
      ...{ kind: "reply", id, to },
      body: new TextEncoder().encode(JSON.stringify(fields)),
    });
  const good = { kind: "subscribed", verdict: "fresh", head: 7 };
  const { boot } = asked.stamp;
  await reply("0".repeat(16), boot, good);
  await reply(asked.id, "0".repeat(16), good);
  await reply(asked.id, boot, { kind: "unsubscribed", listened: true });
  await reply(asked.id, boot, { ...good, verdict: "yes" });
  await reply(asked.id, boot, { ...good, head: -1 });
  await reply(asked.id, boot, { kind: "refused", error: "no", reason: "" });
  await reply(asked.id, boot, null);
  assertEquals([answer, here.membership.metrics().malformed], ["none", 5]);
  await reply(asked.id, boot, good);
  assertEquals(answer, { verdict: "fresh", head: 7 });
  await bench.end(here, there);
});

test("what the holder's hub refuses is raised where it was asked", async () => {
  const { bench, here, there, client, call } = await scene();
  const subscriptions = createSubscriptions({ hub: here.hub, membership: here.membership });
  for (let i = 1; i < 256; i++) {
    await there.hub.subscribe(call.connection, `t${i}`);
  }
  const error = await assertRejects(() => subscriptions.subscribe(call), TopicError);
  assertEquals(error.message, "Cannot use the topics: the connection has 256, the most is 256");

  const errors: readonly [string, new (...args: never[]) => Error][] = [
    ["journal", JournalError],
    ["type", TypeError],
    ["failed", RelayError],
  ];
  client.sink.leave();
  for (const [kind, type] of errors) {
    const failing = assertRejects(() => subscriptions.subscribe(call), type, "the reason");
    await settle();
    const asked = bench.sent.findLast(({ kind }) => kind === "command");
    assert(asked?.kind === "command");
    const stranger = bench.stranger("stranger");
    stranger.stamp = { ...stranger.stamp, boot: `${kind.length}`.repeat(16) };
    const fields = { kind: "refused", error: kind, reason: "the reason" };
    const body = new TextEncoder().encode(JSON.stringify(fields));
    await stranger.say({ kind: "reply", id: asked.id, to: asked.stamp.boot, body });
    await failing;
  }
  await bench.end(here, there);
});

test("a malformed call is refused before anything is looked for", async () => {
  const { bench, here, there, call } = await scene();
  const subscriptions = createSubscriptions({ hub: here.hub, membership: here.membership });
  const refused = async (more: object, type: new (...args: never[]) => Error): Promise<void> => {
    const one = { ...call, ...more } as SubscribeCall;
    await assertRejects(() => subscriptions.subscribe(one), type);
  };
  await refused({ topic: "" }, TopicError);
  await refused({ topic: "a\n" }, TopicError);
  await refused({ topic: 7 }, TypeError);
  await refused({ connection: undefined }, TypeError);
  await refused({ user: null }, TypeError);
  await refused({ after: 1 }, TypeError);
  await refused({ history: { last: 1.5 } }, TypeError);
  await assertRejects(() => subscriptions.unsubscribe({ ...call, topic: "" }), TopicError);
  assertThrows(() => subscriptions.disconnect(undefined as never), TypeError);
  assertEquals(here.membership.metrics().asked, 0);
  for (const waitMs of [0, -1, 1.5, NaN]) {
    const error = assertThrows(() => createSubscriptions({ hub: here.hub, waitMs }), ConfigError);
    assertEquals(error.option, "waitMs");
  }
  await bench.end(here, there);
});

test("so many questions wait and no more", async () => {
  const { bench, here, there, call } = await scene();
  const subscriptions = createSubscriptions({ hub: here.hub, membership: here.membership });
  const unknown = { ...call, connection: "0".repeat(32) };
  const waiting = Array.from({ length: 1024 }, () => subscriptions.subscribe(unknown));
  const error = await assertRejects(() => subscriptions.subscribe(unknown), RelayError);
  assertEquals(error.fault, "unavailable");
  await bench.pass(WAIT_MS);
  assertEquals(new Set(await Promise.all(waiting)), new Set([null]));
  assertEquals(await subscriptions.subscribe(call), { verdict: "fresh", head: 0 });
  await bench.end(here, there);
  assertEquals(bench.clock.pending, 0);
});

test("who leaves waits for no answer", async () => {
  const { bench, here, there, call } = await scene();
  const subscriptions = createSubscriptions({ hub: here.hub, membership: here.membership });
  const waiting = subscriptions.subscribe({ ...call, connection: "0".repeat(32) });
  await settle();
  await here.membership.leave();
  assertEquals(await waiting, null);
  assertEquals(await timed(bench, subscriptions.subscribe(call)), [WAIT_MS, null]);
  await bench.end(here, there);
});

test("a logout ends a user's connections on every pod, and nobody else's", async () => {
  const { bench, here, there, client, call } = await scene();
  const others = [
    new Client(here.hub, { user: "ann" }),
    new Client(here.hub, { user: "bob" }),
    new Client(there.hub, { user: "bob" }),
    new Client(there.hub),
    new Client(here.hub),
  ];
  const subscriptions = createSubscriptions({ hub: here.hub, membership: here.membership });
  assertEquals(subscriptions.disconnect(""), 0);
  assertEquals(subscriptions.disconnect(call.user), 1);
  await settle();
  const ended = [client, ...others].map(({ sink }) => sink.ended);
  assertEquals(ended, [true, true, false, false, false, false]);
  await bench.end(here, there);
});
