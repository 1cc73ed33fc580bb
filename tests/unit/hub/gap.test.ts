import { assert, assertEquals, assertThrows } from "@std/assert";
import { formatCursor, parseCursor } from "../../../src/wire/cursor.ts";
import { test } from "../../support/test.ts";
import { type Bench, bench, Client, RING, settle } from "./harness.ts";

function cursor({ hub }: Bench, offset: number): string {
  return formatCursor({ epoch: hub.position().epoch, offset });
}

/** The offsets of the frames that carried an id, ids alone included. */
function offsets(client: Client): number[] {
  return client.reports.flatMap((report) =>
    (report.kind === "event" || report.kind === "id") && report.id
      ? [parseCursor(report.id)?.offset ?? -1]
      : []
  );
}

test("a gap consumes one offset, and no event is there", () => {
  const made = bench({ replay: RING });
  made.hub.publish({ data: "1" });
  assertEquals(made.hub.gap(), 2);
  assertEquals(made.hub.publish({ data: "3" }), 3);
  assertEquals(made.hub.snapshot().map(({ offset }) => offset), [1, 3]);
  assertEquals(made.hub.position().head, 3);
  assertEquals(made.hub.metrics().gaps, 1);
});

test("a client that declares lag is told at exactly the place, and stays", async () => {
  const made = bench({ replay: RING });
  const client = new Client(made.hub, { topics: ["a"] }, { lag: true });
  made.hub.publish({ topic: "a", data: "1" });
  made.hub.gap({ spreadMs: 1000 });
  made.hub.publish({ topic: "a", data: "3" });
  await settle();
  assertEquals(client.story.slice(-3), ["1", "sse:lag", "3"]);
  const lag = { missed: null, from: cursor(made, 1), to: cursor(made, 2) };
  assertEquals(JSON.parse(client.named("sse:lag")[0] ?? ""), lag);
  made.clock.advance(5000);
  await settle();
  assertEquals(client.sink.ended, false);
});

test("a client that does not declare lag goes on without ids, is sent away, and learns of it then", async () => {
  const made = bench({ replay: RING });
  const first = new Client(made.hub);
  const client = new Client(made.hub);
  made.hub.publish({ data: "1" });
  made.hub.gap({ spreadMs: 1000 });
  made.hub.publish({ data: "3" });
  await settle();
  made.clock.advance(15_000);
  await settle();
  assertEquals([first.data, first.sink.ended], [["1"], true], "who goes first goes at once");
  assertEquals(client.data, ["1", "3"], "delivery does not stop");
  assertEquals(offsets(client), [0, 1], "nothing lets its cursor pass the gap");
  assertEquals(client.named("sse:lag"), []);
  assertEquals(client.named("sse:reset"), ['{"reason":"shutdown"}']);
  assertEquals(client.sink.ended, true);
  const back = new Client(made.hub, {}, { cursor: cursor(made, 1) });
  await settle();
  assertEquals([back.hello.verdict, back.hello.floor], ["gap_floor", 3]);
});

test("a cursor from before the gap is not resumed, not even at the head; one at the gap is", async () => {
  const made = bench({ replay: RING });
  made.hub.publish({ data: "1" });
  made.hub.gap();
  const verdicts: string[] = [];
  for (const offset of [0, 1, 2]) {
    const client = new Client(made.hub, { topics: ["quiet"] }, { cursor: cursor(made, offset) });
    await settle();
    verdicts.push(client.hello.verdict);
  }
  assertEquals(verdicts, ["gap_floor", "gap_floor", "resumed"]);
  assertEquals(made.hub.position().floor, 0, "nothing that could be replayed is left");
});

test("those who must be sent away are, spread over the time given", async () => {
  const made = bench({ replay: RING });
  const clients = Array.from({ length: 10 }, () => new Client(made.hub));
  await settle();
  made.hub.gap({ spreadMs: 1000 });
  const left: number[] = [];
  for (let i = 0; i < 12; i++) {
    await settle();
    left.push(clients.filter(({ sink }) => !sink.ended).length);
    made.clock.advance(100);
  }
  assertEquals(left[0], 9);
  assert(left.every((n, i) => i === 0 || (left[i - 1] ?? 0) - n <= 2), left.join());
  assertEquals(left.at(-1), 0);
});

test("a slow client that falls behind over a gap is told that the number cannot be known", async () => {
  const made = bench({ slow: "lag", clientBuffer: 2, replay: { ...RING, maxEvents: 3 } });
  const client = new Client(made.hub, {}, { lag: true });
  await settle();
  client.sink.refuse();
  for (let i = 0; i < 10; i++) {
    if (i === 5) made.hub.gap();
    else made.hub.publish({ data: String(i) });
    made.clock.advance(200);
    await settle();
  }
  client.sink.accept();
  await settle();
  const lags = client.named("sse:lag").map((data) => JSON.parse(data));
  assertEquals(lags.map(({ missed }) => missed), [null]);
  assertEquals(lags.at(-1).to, cursor(made, 7));
  assertEquals(client.data.slice(-3), ["7", "8", "9"]);
});

test("a slow client that catches up over a gap that is still held reads on to both sides of it", async () => {
  const made = bench({ slow: "lag", clientBuffer: 2, replay: RING });
  const client = new Client(made.hub, {}, { lag: true });
  await settle();
  client.sink.refuse();
  for (let i = 0; i < 10; i++) {
    if (i === 5) made.hub.gap();
    else made.hub.publish({ data: String(i) });
    made.clock.advance(200);
    await settle();
  }
  client.sink.accept();
  await settle();
  const story = client.story.filter((word) => !word.startsWith("#") && word !== "sse:keepalive");
  assertEquals(story.slice(-10), ["0", "1", "2", "3", "4", "sse:lag", "6", "7", "8", "9"]);
});

test("a hub without a ring tells of a gap as well", async () => {
  const made = bench();
  const declared = new Client(made.hub, {}, { lag: true });
  made.hub.publish({ data: "1" });
  made.hub.gap();
  made.hub.publish({ data: "3" });
  await settle();
  assertEquals(declared.story.slice(-3), ["1", "sse:lag", "3"]);
});

test("after shutdown there is nobody to tell", async () => {
  const made = bench({ replay: RING });
  await made.hub.shutdown();
  assertEquals(made.hub.gap(), 0);
});

test("what is published goes to the siblings after it was offered here, what is ingested does not", async () => {
  const made = bench({ replay: RING });
  const client = new Client(made.hub);
  await settle();
  const seen: string[] = [];
  const leave = made.hub.relayTo({
    check: (event) => void seen.push(`check ${String(event.data)} at ${made.hub.position().head}`),
    send: (event) => void seen.push(`send ${String(event.data)} at ${made.hub.position().head}`),
  });
  made.hub.publish({ topic: "a", data: "x" });
  made.hub.ingest({ topic: "a", data: "y" });
  made.hub.publish({ data: "z", ephemeral: true });
  await settle();
  assertEquals(client.data, ["x", "y", "z"]);
  assertEquals(seen, ["check x at 0", "send x at 1", "check z at 2", "send z at 2"]);
  assertThrows(() => made.hub.relayTo({ check() {}, send() {} }), TypeError, "siblings");
  leave();
  made.hub.publish({ data: "w" });
  assertEquals(seen.length, 4);
});

test("an event that cannot be carried to the siblings reaches nobody, and consumes no offset", async () => {
  const made = bench({ replay: RING });
  const client = new Client(made.hub);
  made.hub.relayTo({
    check() {
      throw new RangeError("too large for them");
    },
    send: () => {},
  });
  assertThrows(() => made.hub.publish({ data: "x" }), RangeError);
  await settle();
  assertEquals([client.data, made.hub.position().head], [[], 0]);
});
