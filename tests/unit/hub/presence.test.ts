import { assert, assertEquals } from "@std/assert";
import type { PresenceEvent } from "../../../src/hub/presence.ts";
import { test } from "../../support/test.ts";
import { ask, bench, Client, RING, settle } from "./harness.ts";

test("an arrival tells who, where and how judged; a departure tells why", async () => {
  const { hub, clock, presence } = bench({ replay: RING });
  const client = new Client(hub, { topics: ["a", "b"], clientTag: "tab-1" }, { cursor: "x" });
  await settle();
  const { epoch } = hub.position();
  const who = {
    topics: ["a", "b"],
    epoch,
    tag: "tab-1",
    connection: client.hello.connection ?? "",
  };
  assertEquals<unknown>(presence, [
    { at: clock.now(), kind: "connected", verdict: "cursor_invalid", ...who },
  ]);
  clock.advance(5000);
  client.sink.leave();
  await settle();
  assertEquals<unknown>(presence[1], {
    at: clock.now(),
    kind: "disconnected",
    cause: "closed",
    ...who,
  });
});

test("however often and by whatever way a peer leaves, one departure is told", async () => {
  const { hub, presence } = bench();
  const client = new Client(hub);
  client.sink.leave();
  client.sink.leave();
  client.sink.fail();
  client.sink.accept();
  hub.publish({ data: "x" });
  await settle();
  assertEquals(presence.map(({ kind }) => kind), ["connected", "disconnected"]);
});

test("a connection whose hello was never taken makes no presence", async () => {
  const { hub, clock, presence } = bench();
  const clients = [0, 1, 2].map(() => new Client(hub, {}, {}, false));
  clients[0]?.sink.leave();
  clients[1]?.sink.fail();
  clients[1]?.sink.accept();
  await settle();
  clock.advance(60_000);
  await settle();
  assertEquals([hub.clientCount, presence.length], [0, 0]);
  assertEquals(hub.metrics().departures, {
    closed: 1,
    dead: 2,
    evicted: 0,
    shutdown: 0,
    hook_failed: 0,
  });
});

test("a write that fails is dead, and says which write it was", async () => {
  const { hub, clock, presence } = bench();
  const [a, b] = [new Client(hub), new Client(hub)];
  a.sink.fail();
  hub.publish({ data: "x" });
  await settle();
  b.sink.fail();
  clock.advance(15_000);
  await settle();
  const departures = presence.filter(({ kind }) => kind === "disconnected");
  assertEquals(departures.map(({ cause, write }) => [cause, write]), [
    ["dead", "frame"],
    ["dead", "keepalive"],
  ]);
});

test("the hook runs in a later microtask, never inside publish, fan-out, serve or shutdown", async () => {
  let inside = false;
  let calls = 0;
  const onPresence = (): void => {
    calls++;
    assert(!inside);
  };
  const { hub } = bench({ onPresence });
  const within = (act: () => unknown): void => {
    inside = true;
    act();
    inside = false;
  };
  let client = new Client(hub, {}, {}, false);
  within(() => client.sink.accept());
  await settle();
  within(() => client.sink.fail());
  within(() => hub.publish({ data: "x" }));
  await settle();
  within(() => client = new Client(hub));
  within(() => hub.disconnect({ where: () => true }));
  within(() => client = new Client(hub));
  let stopped = Promise.resolve();
  within(() => stopped = hub.shutdown());
  await stopped;
  await settle();
  assertEquals(calls, 6);
});

test("a hook that throws or rejects is logged at error, and changes nothing", async () => {
  const faults: readonly (() => void | Promise<void>)[] = [
    () => {
      throw new Error("sync trouble");
    },
    () => Promise.reject(new Error("async trouble")),
  ];
  for (const onPresence of faults) {
    const { hub, logger } = bench({ onPresence, keepaliveMs: 5000 });
    const client = new Client(hub);
    await settle();
    hub.publish({ data: "still served" });
    await settle();
    assertEquals([client.data, hub.clientCount], [["still served"], 1]);
    assertEquals(logger.lines.length, 1);
    assert(logger.lines[0]?.startsWith("error: ") && logger.lines[0].includes("trouble"));
  }
});

test("a presence hook may publish, disconnect and serve", async () => {
  const told: string[] = [];
  const made = bench({
    onPresence: (event: PresenceEvent): void => {
      told.push(event.kind);
      if (event.kind === "disconnected") return;
      made.hub.publish({ name: "joined", data: event.tag });
      if (event.tag === "banned") made.hub.disconnect({ tag: "banned" });
    },
  });
  const client = new Client(made.hub, { clientTag: "one" });
  await settle();
  new Client(made.hub, { clientTag: "banned" });
  await settle();
  assertEquals(client.data, ["one", "banned"]);
  assertEquals(told, ["connected", "connected", "disconnected"]);
  assertEquals(made.hub.clientCount, 1);
});

test("presence lists who is connected, by tag and by topic", async () => {
  const { hub, clock } = bench();
  const first = new Client(hub, { clientTag: "t1", topics: ["a", "b"] });
  new Client(hub, { clientTag: "t1", topics: ["b", "c"] });
  new Client(hub, { topics: ["c"] });
  new Client(hub);
  await settle();
  const { tags, topics } = hub.presence();
  assertEquals(tags, [{
    tag: "t1",
    connections: 2,
    topics: ["a", "b", "c"],
    lastAliveAt: clock.now(),
    gone: false,
  }]);
  assertEquals([...topics].sort(), [["", 1], ["a", 1], ["b", 2], ["c", 2]]);
  first.sink.leave();
  assertEquals([...hub.presence().topics].sort(), [["", 1], ["b", 1], ["c", 2]]);
  assertEquals(hub.presence().tags[0]?.connections, 1);
});

test("an acknowledgement marks its tag alive for two beats; a tag that sends none is gone", async () => {
  const { hub, clock } = bench({ keepaliveMs: 1000 });
  const alive = (tag: string): number => {
    const headers = { "SSE-Client": tag };
    return hub.aliveHandler(new Request("http://localhost/alive", { method: "POST", headers }))
      .status;
  };
  new Client(hub, { clientTag: "t1" });
  await settle();
  const gone = (): boolean[] => hub.presence().tags.map((tag) => tag.gone);
  for (let i = 0; i < 5; i++) {
    clock.advance(1500);
    assertEquals(alive("t1"), 204);
    assertEquals(gone(), [false]);
  }
  clock.advance(2000);
  assertEquals(gone(), [false]);
  clock.advance(1);
  assertEquals(gone(), [true]);
  assertEquals(alive("t1"), 204);
  assertEquals([gone(), hub.presence().transitions], [[false], { alive: 2, expired: 1 }]);
  hub.setAliveWindow(500);
  clock.advance(501);
  assertEquals(gone(), [true]);
});

test("an acknowledgement without a valid tag is refused", async () => {
  const { hub } = bench();
  for (const tag of [undefined, "", "a b", "x".repeat(65)]) {
    const headers = new Headers(tag === undefined ? [] : [["SSE-Client", tag]]);
    const request = new Request("http://localhost/alive", { method: "POST", headers });
    const response = hub.aliveHandler(request);
    assertEquals([response.status, (await response.json()).code], [400, "alive_invalid"]);
  }
  const response = hub.aliveHandler(new Request("http://localhost/alive"));
  assertEquals([response.status, response.headers.get("Allow")], [405, "POST"]);
  assertEquals((await response.json()).code, "sse_method");
  assertEquals(hub.presence().tags, []);
});

test("disconnect ends those that it names, in good order, and says how many", async () => {
  const { hub, presence } = bench();
  const clients = [
    new Client(hub, { clientTag: "t1", topics: ["a"] }),
    new Client(hub, { clientTag: "t1", topics: ["b"] }),
    new Client(hub, { clientTag: "t2", topics: ["a", "c"] }),
    new Client(hub, { topics: ["d"] }),
    new Client(hub),
  ];
  const connection = clients[3]?.hello.connection ?? "";
  assertEquals(hub.disconnect({ tag: "nobody" }), 0);
  assertEquals(hub.disconnect({ tag: "" }), 0, "those without a tag share none");
  assertEquals(hub.disconnect({ connection }), 1);
  assertEquals(hub.disconnect({ connection }), 0);
  assertEquals(hub.disconnect({ topic: "c" }), 1);
  assertEquals(hub.disconnect({ tag: "t1" }), 2);
  assertEquals(
    hub.disconnect({ where: ({ topics, tag }) => topics.length === 0 && tag === "" }),
    1,
  );
  await settle();
  assertEquals(hub.clientCount, 0);
  assert(clients.every(({ sink }) => sink.ended && !sink.destroyed));
  const departures = presence.filter(({ kind }) => kind === "disconnected");
  assertEquals(departures.map(({ cause }) => cause), [
    "closed",
    "closed",
    "closed",
    "closed",
    "closed",
  ]);
});

test("a request that was aborted before it was served is given a head and no connection", () => {
  // Deno's signal says nothing about a stream, so it is not asked there.
  if ("Deno" in globalThis) return;
  const { hub } = bench();
  const response = hub.serve(ask({ signal: AbortSignal.abort() }));
  assertEquals([response.body, hub.clientCount], [null, 0]);
});

test("an abort of the request's signal is a departure where the runtime's signal can be trusted", async () => {
  if ("Deno" in globalThis) return;
  const { hub, presence } = bench();
  const controller = new AbortController();
  new Client(hub, {}, { signal: controller.signal });
  controller.abort();
  controller.abort();
  await settle();
  assertEquals(presence.map(({ cause }) => cause), [undefined, "closed"]);
});
