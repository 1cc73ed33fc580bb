import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { InvalidUtf8Error } from "../../../src/errors.ts";
import { test } from "../../support/test.ts";
import { ask, bench, Client, RING, settle } from "./harness.ts";

const RESET = '{"reason":"shutdown"}';

/** Whether a promise has settled, without waiting for it. */
async function state(promise: Promise<unknown>): Promise<"pending" | "done" | "failed"> {
  let found: "pending" | "done" | "failed" = "pending";
  promise.then(() => found = "done", () => found = "failed");
  await settle();
  return found;
}

test("every client is told, the streams end in good order, and the promise resolves", async () => {
  const { hub, clock, presence } = bench();
  const clients = Array.from({ length: 5 }, () => new Client(hub));
  await hub.shutdown();
  for (const { sink, story } of clients) {
    assertEquals(story[story.length - 1], "sse:reset");
    assertEquals([sink.ended, sink.destroyed], [true, false]);
  }
  assertEquals(clients[0]?.named("sse:reset"), [RESET]);
  await settle();
  const departures = presence.slice(5).map(({ cause, write }) => [cause, write]);
  assertEquals(departures, clients.map(() => ["shutdown", undefined]));
  assertEquals([hub.clientCount, clock.pending], [0, 0]);
});

test("newcomers are refused with 503 from the first moment", async () => {
  const { hub } = bench();
  new Client(hub, {}, {}, false);
  const stopped = hub.shutdown();
  const response = hub.serve(ask());
  assertEquals([response.status, (await response.json()).code], [503, "sse_unavailable"]);
  assert(Number(response.headers.get("Retry-After")) >= 1);
  assertEquals(await state(stopped), "pending");
});

test("after shutdown a valid event is dropped, an invalid one still throws", async () => {
  const { hub } = bench({ replay: RING });
  hub.publish({ data: "1" });
  await hub.shutdown();
  assertEquals(hub.publish({ data: "2" }), 0);
  assertEquals(hub.publish({ data: "3", ephemeral: true }), 0);
  assertThrows(() => hub.publish({ name: "sse:x", data: "" }), TypeError);
  assertThrows(() => hub.publish({ data: "\ud800" }), InvalidUtf8Error);
  const { head, floor } = hub.position();
  assertEquals([head, floor, hub.snapshot().length], [1, 1, 1]);
  assertEquals(hub.metrics().published, 1);
});

test("what is owed goes out before the goodbye, what is published meanwhile does not", async () => {
  const { hub } = bench({ replay: RING });
  const { epoch } = hub.position();
  for (const data of ["1", "2"]) hub.publish({ data });
  const resuming = new Client(hub, {}, { cursor: `${epoch}:0` }, false);
  const live = new Client(hub);
  live.sink.refuse();
  hub.publish({ data: "3" });
  await settle();
  hub.publish({ data: "4" });
  const stopped = hub.shutdown();
  hub.publish({ data: "dropped" });
  resuming.sink.accept();
  live.sink.accept();
  await stopped;
  assertEquals(resuming.data, ["1", "2", "3", "4"]);
  assertEquals(live.data, ["3", "4"]);
  for (const { story } of [resuming, live]) assertEquals(story[story.length - 1], "sse:reset");
});

test("a client that takes nothing is waited for no longer than the write timeout", async () => {
  const { hub, clock, presence } = bench({ keepaliveMs: 1000, writeTimeoutMs: 4000 });
  const client = new Client(hub);
  client.sink.refuse();
  hub.publish({ data: "answered with no" });
  await settle();
  const stopped = hub.shutdown();
  clock.advance(3999);
  assertEquals([await state(stopped), hub.clientCount], ["pending", 1]);
  clock.advance(1);
  assertEquals(await state(stopped), "done");
  assertEquals([client.sink.destroyed, clock.pending], [true, 0]);
  const departure = presence[1];
  assertEquals([departure?.cause, departure?.write], ["shutdown", "reset"]);
});

test("a very short write timeout still leaves 250 ms for the goodbye", async () => {
  const { hub, clock } = bench({ keepaliveMs: 1, writeTimeoutMs: 2 });
  new Client(hub, {}, {}, false);
  const stopped = hub.shutdown();
  clock.advance(249);
  assertEquals(await state(stopped), "pending");
  clock.advance(1);
  assertEquals(await state(stopped), "done");
});

test("a second call joins the first, and one after the end resolves at once", async () => {
  const { hub, clock } = bench();
  const client = new Client(hub);
  client.sink.refuse();
  hub.publish({ data: "x" });
  await settle();
  const both = [hub.shutdown(), hub.shutdown()];
  assertEquals(await Promise.all(both.map(state)), ["pending", "pending"]);
  clock.advance(30_000);
  assertEquals(await Promise.all(both.map(state)), ["done", "done"]);
  assertEquals(await state(hub.shutdown()), "done");
  assertEquals(client.named("sse:reset").length, 0);
});

test("a hub without clients shuts down at once", async () => {
  const { hub, clock } = bench();
  await hub.shutdown();
  assertEquals(clock.pending, 0);
  assertEquals(hub.serve(ask()).status, 503);
});

test("an aborted signal ends the waiting with its reason, not the shutdown", async () => {
  const { hub } = bench();
  const client = new Client(hub);
  client.sink.refuse();
  hub.publish({ data: "x" });
  await settle();
  const controller = new AbortController();
  const reason = new Error("out of patience");
  const stopped = hub.shutdown({ signal: controller.signal });
  controller.abort(reason);
  assertEquals(await assertRejects(() => stopped), reason);
  assertEquals(
    await assertRejects(() => hub.shutdown({ signal: AbortSignal.abort(reason) })),
    reason,
  );
  assertEquals(hub.serve(ask()).status, 503);
  client.sink.accept();
  await hub.shutdown();
  assertEquals(client.named("sse:reset"), [RESET]);
});

test("a running hook is waited for, and its frames come before the goodbye", async () => {
  const { hub, clock } = bench({ keepaliveMs: 1000, writeTimeoutMs: 2000 });
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => open = resolve);
  const client = new Client(hub, {
    async onConnect(writer) {
      await opened;
      await writer.event("", "late");
    },
  });
  await settle();
  const stopped = hub.shutdown();
  clock.advance(10_000);
  assertEquals(await state(stopped), "pending");
  open();
  await stopped;
  assertEquals(client.story.slice(-3), ["late", "#0", "sse:reset"]);
});

test("a hook that has not begun does not run any more", async () => {
  const { hub } = bench();
  let ran = false;
  const client = new Client(hub, { onConnect: () => void (ran = true) }, {}, false);
  const stopped = hub.shutdown();
  client.sink.accept();
  await stopped;
  assertEquals([ran, client.story[client.story.length - 1]], [false, "sse:reset"]);
});

test("a hook that waits for a peer which stopped reading does not hold the shutdown for ever", async () => {
  const { hub, clock } = bench({ keepaliveMs: 1000, writeTimeoutMs: 2000 });
  const client = new Client(
    hub,
    {
      async onConnect(writer) {
        client.sink.refuse();
        await writer.event("", "answered with no");
        await writer.event("", "never taken");
      },
    },
    {},
    false,
  );
  client.sink.accept();
  await settle();
  const stopped = hub.shutdown();
  for (let i = 0; i < 20; i++) {
    clock.advance(1000);
    await settle();
  }
  assertEquals(await state(stopped), "done");
});

test("a peer that leaves during the goodbye, or before it, holds nothing up", async () => {
  const { hub, presence } = bench();
  const [a, b] = [new Client(hub, {}, {}, false), new Client(hub)];
  b.sink.refuse();
  hub.publish({ data: "x" });
  await settle();
  const stopped = hub.shutdown();
  a.sink.leave();
  b.sink.leave();
  await stopped;
  await settle();
  assertEquals(presence.map(({ kind, cause, write }) => [kind, cause, write]), [
    ["connected", undefined, undefined],
    ["disconnected", "shutdown", "reset"],
  ]);
});

test("where the runtime can tell, shutdown waits until the goodbye was flushed", async () => {
  const { hub, clock } = bench();
  let flushed = (): void => {};
  const client = new Client(hub);
  client.sink.flushWhen(new Promise<void>((resolve) => flushed = resolve));
  const stopped = hub.shutdown();
  assertEquals(await state(stopped), "pending");
  assertEquals(client.sink.ended, true);
  flushed();
  assertEquals(await state(stopped), "done");
  assertEquals(clock.pending, 0);
});

test("a runtime that never says that it flushed does not hold the shutdown for ever", async () => {
  const { hub, clock } = bench();
  new Client(hub).sink.flushWhen(new Promise<never>(() => {}));
  new Client(hub).sink.flushWhen(Promise.reject(new Error("the peer left")));
  const stopped = hub.shutdown();
  assertEquals(await state(stopped), "pending");
  clock.advance(30_000);
  assertEquals(await state(stopped), "done");
});

test("a client that was evicted and has not ended yet is waited for too", async () => {
  const { hub, clock } = bench({ clientBuffer: 1, replay: RING });
  const client = new Client(hub);
  client.sink.refuse();
  while (hub.clientCount > 0) {
    hub.publish({ data: "x" });
    clock.advance(50);
    await settle();
  }
  const stopped = hub.shutdown();
  assertEquals(await state(stopped), "pending");
  clock.advance(250);
  assertEquals(await state(stopped), "done");
});

test("a hole met during the shutdown leaves no timer behind", async () => {
  const { hub, clock } = bench({ replay: { maxEvents: 2, ttlMs: 75_000 } });
  const { epoch } = hub.position();
  for (const data of ["1", "2"]) hub.publish({ data });
  const client = new Client(hub, {}, { cursor: `${epoch}:0` }, false);
  for (const data of ["3", "4"]) hub.publish({ data });
  const stopped = hub.shutdown();
  client.sink.accept();
  await stopped;
  assertEquals(client.data, []);
  assertEquals(client.story[client.story.length - 1], "sse:reset");
  assertEquals(clock.pending, 0);
});

test("shutdown inside a hook, and serve or publish inside a shutdown, do no harm", async () => {
  const { hub, presence } = bench();
  let stopped: Promise<void> | undefined;
  const client = new Client(hub, {
    async onConnect(writer) {
      stopped = hub.shutdown();
      hub.publish({ data: "dropped" });
      assertEquals(hub.serve(ask()).status, 503);
      await writer.event("", "last words");
    },
  });
  await settle();
  await stopped;
  assertEquals(client.story, ["retry 1500", "sse:hello", "last words", "#0", "sse:reset"]);
  assertEquals(presence.map(({ cause }) => cause), [undefined, "shutdown"]);
});
