/**
 * Streams over the hop, in Miniflare and in plain workerd: the objects sleep, are reset and are killed
 * while their clients stay connected.
 *
 * @module
 */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { elapse } from "../suites/lib/within.ts";
import { eventually } from "../support/poll.ts";
import type { EventStream } from "../support/stream.ts";
import { test } from "../support/test.ts";
import { HopServer } from "./cloudflare_hop_server.ts";

/** Above the 10 s after which workerd lets an object sleep, and the 2 s of its last word. */
const IDLE_MS = 13_000;
/** How often it is waited so. */
const ROUNDS = 3;
const WINDOW_BYTES = 262_144;

/** The offsets from one to another that a client of these topics gets, where they take turns. */
const TURNS = ["a", "b", ""] as const;
function offsetsOf(topics: readonly string[], from: number, to: number): number[] {
  const all = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  return all.filter((offset) => {
    const topic = TURNS[offset % 3] ?? "";
    return topics.length === 0 || topic === "" || topics.includes(topic);
  });
}

async function publishTurns(
  server: HopServer,
  room: string,
  from: number,
  to: number,
): Promise<void> {
  for (let offset = from; offset <= to; offset++) {
    assertEquals(await server.publish(room, { topic: TURNS[offset % 3], data: "x" }), offset);
  }
}

async function sleepsAndGoesOn(server: HopServer): Promise<void> {
  const listens = [["a"], ["b"], []];
  const streams: EventStream[] = [];
  for (const topics of listens) {
    streams.push(await server.stream(`quiet?${topics.map((topic) => `topic=${topic}`).join("&")}`));
  }
  await publishTurns(server, "quiet", 1, 6);
  for (const stream of streams) await stream.reached(6);
  assertEquals(await server.births("quiet"), 1);
  const sent = (await server.sockets("quiet")).map((socket) => socket.sent);
  let head = 6;
  // A machine with much else to do may not have let it be idle the first time.
  for (let round = 1; await server.births("quiet") === 1 && round <= ROUNDS; round++) {
    const before = streams.map(({ keepalives }) => keepalives);
    await elapse(IDLE_MS);
    for (const [index, stream] of streams.entries()) {
      assertGreater(stream.keepalives, (before[index] ?? 0) + 5, "the Worker keeps it alive");
    }
    // Asked by nobody before, so that it is the event that wakes it.
    await publishTurns(server, "quiet", head + 1, head + 6);
    head += 6;
  }
  assertEquals(await server.births("quiet"), 2, "it did not sleep");
  // Over the same sockets: new ones would count anew.
  for (const [index, socket] of (await server.sockets("quiet")).entries()) {
    assertGreater(socket.sent, sent[index] ?? 0);
  }
  for (const [index, stream] of streams.entries()) {
    await stream.reached(head);
    assertEquals(stream.offsets, offsetsOf(listens[index] ?? [], 1, head));
    await stream.close();
  }
}

/** An open stream of the object's own keeps it awake: what the hop is for. */
async function staysAwake(server: HopServer): Promise<void> {
  const stream = await server.stream("awake?direct=1");
  await stream.hello();
  await elapse(IDLE_MS);
  assertEquals(await server.births("awake"), 1);
  await stream.close();
}

async function sleepsBehindASlowClient(server: HopServer): Promise<void> {
  const stream = await server.stream("slow");
  await stream.hello();
  stream.pause();
  await server.post("slow/flood", { count: 160, bytes: 60_000 });
  for (let round = 1; await server.births("slow") === 1 && round <= ROUNDS; round++) {
    await elapse(IDLE_MS);
  }
  assertEquals(await server.births("slow"), 2, "it did not sleep");
  const [socket] = await server.sockets("slow");
  assertEquals(socket?.live, false);
  stream.resume();
  await stream.reached(160);
  assertEquals(stream.offsets, offsetsOf([], 1, 160));
  await stream.close();
}

async function isResetUnderAPublisher(server: HopServer): Promise<void> {
  const listens = [["a"], ["b"], [], ["a", "b"], ["c"], []];
  const streams = await Promise.all(
    listens.map((topics) =>
      server.stream(`busy?${topics.map((topic) => `topic=${topic}`).join("&")}`)
    ),
  );
  for (const stream of streams) await stream.hello();
  let head = 0;
  let resets = 0;
  const until = performance.now() + 40_000;
  const busy = (): boolean => (head < 60 || resets < 5) && performance.now() < until;
  const publisher = (async () => {
    for (let n = 1; busy(); n++) {
      const event = { topic: TURNS[n % 3], data: `${n}`, id: `event ${n}` };
      await eventually(async () => {
        const offset = await server.publish("busy", event);
        if (offset !== null) head = offset;
        return offset !== null;
      }, { what: "a publication" });
      assertEquals(head, n);
    }
  })();
  for (; busy(); resets++) {
    await elapse(400);
    await server.post("busy/reset");
  }
  await publisher;
  assert(head >= 60 && resets >= 5, `${head} events, ${resets} resets`);
  assertGreater(await server.births("busy"), resets);
  // The one that takes every cursor along.
  const last = await server.publish("busy", { data: "last" }) ?? 0;
  for (const [index, stream] of streams.entries()) {
    await stream.reached(last, 20_000);
    assertEquals(stream.offsets, [...offsetsOf(listens[index] ?? [], 1, head), last]);
    assertEquals(stream.ending, null);
    await stream.close();
  }
}

async function holdsNoMoreThanTheWindow(server: HopServer): Promise<void> {
  const stream = await server.stream("held");
  await stream.hello();
  stream.pause();
  const count = 160;
  const bytes = 60_000;
  const flood = server.post("held/flood", { count, bytes });
  let peak = 0;
  let flooding = true;
  void flood.then(() => flooding = false);
  for (let last = false; !last;) {
    last = !flooding;
    for (const { sent, acked } of await server.sockets("held")) {
      peak = Math.max(peak, sent - acked);
    }
    await elapse(20);
  }
  await flood;
  const [socket] = await server.sockets("held");
  assertEquals(socket?.live, false);
  assertGreater(peak, WINDOW_BYTES / 2);
  assert(peak < WINDOW_BYTES + bytes + 100, `${peak} bytes went ahead`);
  stream.resume();
  await stream.reached(count, 20_000);
  assertEquals(stream.offsets, offsetsOf([], 1, count));
  await stream.close();
}

async function freesItsRows(server: HopServer): Promise<void> {
  const rows = () => server.sql("gone", "SELECT connection, lost FROM tidemark_hops");
  const stream = await server.stream("gone?topic=a");
  const staying = await server.stream("gone?topic=a&topic=b");
  await publishTurns(server, "gone", 1, 5);
  await staying.reached(5);
  await stream.close();
  await eventually(async () => (await rows()).length === 1, { what: "the rows to go" });
  const topics = await server.sql("gone", "SELECT topic FROM tidemark_hop_topics ORDER BY topic");
  assertEquals(topics.map(({ topic }) => topic), ["a", "b"]);
  const { cursor } = staying.audit;
  await server.stop();
  await staying.ended;
  await server.start();
  await publishTurns(server, "gone", 6, 9);
  assertEquals((await rows()).map(({ lost }) => typeof lost), ["number"]);
  await server.sql("gone", "UPDATE tidemark_hops SET lost = 1");
  const again = await server.stream("gone?topic=a&topic=b", { cursor });
  assertEquals((await again.hello()).verdict, "resumed");
  await again.reached(9);
  assertEquals(again.offsets, offsetsOf(["a", "b"], 6, 9));
  assertEquals((await rows()).map(({ lost }) => lost), [null]);
  await again.close();
}

async function tellsWhatItCannotGoOnWith(server: HopServer): Promise<void> {
  const stream = await server.stream("moved");
  await publishTurns(server, "moved", 1, 3);
  await stream.reached(3);
  const { cursor } = stream.audit;
  // What the docs ask for after a recovery to an earlier point in time.
  await server.sql("moved", "DROP TABLE tidemark_journal");
  await server.post("moved/reset");
  await stream.end();
  assertEquals(stream.audit.reset, "shutdown");
  const again = await server.stream("moved", { cursor });
  assertEquals((await again.hello()).verdict, "epoch_changed");
  // Its tables go as well, while it is open.
  await server.post("moved/delete-all");
  assertEquals(await server.publish("moved", { data: "anew" }), 1);
  await again.end();
  assertEquals([again.audit.reset, again.offsets], ["shutdown", []]);
  const last = await server.stream("moved", { cursor: again.audit.cursor });
  assertEquals((await last.hello()).verdict, "epoch_changed");
  await server.publish("moved", { data: "heard" });
  await last.reached(2);
  await last.close();
}

async function isReachedByItsId(server: HopServer): Promise<void> {
  const direct = await server.stream("mixed?direct=1&topic=a&tag=t1");
  const hop = await server.stream("mixed?topic=a&tag=t1&user=u1&hook=1");
  const { connection } = await hop.hello();
  await publishTurns(server, "mixed", 1, 9);
  const call = { connection, topic: "b", history: { last: 2 } };
  assertEquals(JSON.parse(await server.post("mixed/subscribe", call)), {
    verdict: "fresh",
    head: 9,
  });
  await server.publish("mixed", { topic: "b", data: "live" });
  await server.publish("mixed", { data: "now", ephemeral: true });
  assertEquals(await server.post("mixed/unsubscribe", call), "true");
  assertEquals(await server.post("mixed/unsubscribe", call), "false");
  await server.publish("mixed", { topic: "b", data: "unheard" });
  assertEquals(await server.publish("mixed", { topic: "a", data: "end" }), 12);
  for (const stream of [direct, hop]) await stream.reached(12);
  assertEquals(direct.offsets, [...offsetsOf(["a"], 1, 9), 12]);
  assertEquals(hop.offsets, [...offsetsOf(["a"], 1, 9), 10, 12]);
  const told = hop.blocks.flatMap((block) =>
    block.kind === "event" && block.id === null && block.name !== "sse:keepalive"
      ? [`${block.name} ${block.data.slice(0, 40)}`]
      : []
  );
  assertEquals(told.slice(1), [
    ...["hooked hook 1", "hooked hook 2", "hooked hook 3"],
    'sse:history {"phase":"begin","topic":"b"}',
    ...[" x", " x"],
    'sse:history {"phase":"end","topic":"b"}',
    " now",
  ]);
  const { tags, topics } = JSON.parse(await server.post("mixed/presence"));
  assertEquals([tags[0].tag, tags[0].connections, topics], ["t1", 2, { a: 2 }]);
  assertEquals(await server.post("mixed/disconnect", { connection }), "1");
  await hop.end();
  assertEquals(await server.post("mixed/unsubscribe", call), "false");
  await direct.close();
}

async function tellsOfEachOnce(server: HopServer): Promise<void> {
  const ids: string[] = [];
  let busy = true;
  const publisher = (async () => {
    while (busy) await server.publish("brisk/crowd", { data: "x" });
  })();
  try {
    await Promise.all(Array.from({ length: 40 }, async (_, index) => {
      await elapse(10 * index);
      const stream = await server.stream("brisk/crowd");
      ids.push((await stream.hello()).connection);
      if (index % 2 === 0) await stream.until("an id", ({ audit }) => audit.cursor);
      await stream.close();
    }));
    const gone = async (): Promise<boolean> => (await server.sockets("brisk/crowd")).length === 0;
    await eventually(gone, { what: "no socket" });
  } finally {
    busy = false;
    await publisher;
  }
  const told: string[] = JSON.parse(await server.post("brisk/crowd/told"));
  // A release that does not say that a client has left makes it dead, after the write timeout.
  const causes = new Set(told.map((line) => line.split(" ")[2]));
  assert(causes.isSubsetOf(new Set(["", "closed", "dead"])), [...causes].join());
  const expected = ids.flatMap((id) => [`connected ${id}`, `disconnected ${id}`]);
  assertEquals(
    told.map((line) => line.split(" ").slice(0, 2).join(" ")).toSorted(),
    expected.toSorted(),
  );
}

async function endsWithItsAuthority(server: HopServer): Promise<void> {
  const stream = await server.stream("brief?life=1500");
  await stream.end();
  const names = stream.blocks.map((block) => block.kind === "event" ? block.name : block.kind);
  assert(names.includes("sse:expiring"), names.join());
}

/** Each is about rooms of its own, so that all of them wait at the same time. */
const SCENARIOS: Readonly<Record<string, (server: HopServer) => Promise<void>>> = {
  "an object sleeps while its clients stay connected, and goes on exactly when it wakes":
    sleepsAndGoesOn,
  "an object sleeps while a client does not read, and sends it the rest when it does":
    sleepsBehindASlowClient,
  "an object that holds a stream itself does not sleep": staysAwake,
  "an object that is reset again and again under a steady publisher ends no stream, and none misses anything":
    isResetUnderAPublisher,
  "a client that does not read holds no more than the window, and gets everything in order later":
    holdsNoMoreThanTheWindow,
  "what an object cannot go on with is told as a reset, and judged when the client comes back":
    tellsWhatItCannotGoOnWith,
  "what reaches a direct stream by its connection's id reaches one over the hop": isReachedByItsId,
  "each of many clients that come and go is told once as it comes, and once as it goes":
    tellsOfEachOnce,
  "an authority that ends is told, and ends the stream": endsWithItsAuthority,
};

/** What kills the process comes last. */
const LAST: typeof SCENARIOS = {
  "a client that leaves frees its rows; one that is lost with its Worker is swept, and resumes":
    freesItsRows,
};

/** Runs all, on each host at once. Returns the faults by scenario. */
async function runAll(): Promise<ReadonlyMap<string, unknown>> {
  const faults = new Map<string, unknown>();
  const run = (server: HopServer, scenarios: typeof SCENARIOS): Promise<unknown> =>
    Promise.all(
      Object.entries(scenarios).map(async ([name, scenario]) => {
        await scenario(server).catch((error) => faults.set(name, server.withLog(error)));
      }),
    );
  await HopServer.onEach(async (server) => {
    await run(server, SCENARIOS);
    await run(server, LAST);
  });
  return faults;
}

let running: ReturnType<typeof runAll> | undefined;
for (const name of Object.keys({ ...SCENARIOS, ...LAST })) {
  test(name, async () => {
    const faults = await (running ??= runAll());
    if (faults.has(name)) throw faults.get(name);
  }, { needs: ["node"], timeoutMs: 120_000 });
}
