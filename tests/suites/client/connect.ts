/**
 * Connecting: what a client presents, what it is told, and what it hands to the application.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { ClientStream } from "../../support/client_stream.ts";
import { eventually } from "../../support/poll.ts";
import type { Pair, Scenarios } from "./pair.ts";

/** Scenarios at any settings. */
export const connect: Scenarios = {
  "a first connection is fresh, and revalidates once before anything is handed out": async (
    pair,
  ) => {
    const { epoch, head } = (await pair.fixture.state()).position;
    const stream = await pair.open({ headers: { "SSE-Client": "first" } });
    const [hello] = stream.records("hello");
    assertEquals(
      { ...hello, at: 0, keepaliveMs: 0 },
      {
        kind: "hello",
        verdict: "fresh",
        resumed: false,
        repair: false,
        wire: 1,
        epoch,
        floor: "0",
        head,
        keepaliveMs: 0,
        generation: 1,
        at: 0,
      },
    );
    assertEquals(stream.records("state").map(({ to }) => to), ["connecting", "open"]);
    const context = { cause: "hello", epoch, generation: 1, full: true, topics: null } as const;
    assertEquals(stream.told("revalidate").map(({ context }) => context), [context]);
    // In this order: the run begins and ends, and only then the first frame goes out.
    const order = stream.lines.map(({ told }) => told).filter((told) => told !== "done");
    assertEquals(order.filter((told) => told !== "record"), [
      "revalidate",
      "revalidated",
      "frame",
    ]);
    const arrival = await pair.server.presence("connected", "first");
    assertEquals([arrival.verdict, arrival.topic], ["fresh", ""]);
  },

  "what the connect hook writes carries no id, and moves no cursor": async (pair) => {
    const stream = await pair.open();
    const data = '{"type":"connected"}';
    assertEquals(stream.frames, [{ type: "message", data, id: null, length: data.length }]);
  },

  "frames come in order, each with its name and its cursor, which moves when it was handed out":
    async (pair) => {
      const stream = await pair.open();
      const { epoch } = (await pair.fixture.state()).position;
      const [before] = stream.records("hello").map(({ head }) => `${epoch}:${head}`);
      const first = await pair.publish({ name: "tick", data: "1" });
      const second = await pair.publish({ data: "two\nlines é" });
      await pair.expectExactly(stream, [...first, ...second]);
      const [tick, lines] = stream.told("frame").slice(1);
      assertEquals(tick?.frame, { type: "tick", data: "1", id: `${epoch}:${first[0]}`, length: 1 });
      assertEquals([lines?.frame.type, lines?.frame.data], ["message", "two\nlines é"]);
      assertEquals([tick?.cursor, lines?.cursor], [before, `${epoch}:${first[0]}`]);
      assertEquals(await cursorOf(stream), stream.frames.at(-1)?.id);
    },

  "a stream of some topics is given those and what is for everybody": async (pair) => {
    const stream = await pair.open({ query: "?topic=a&topic=b" });
    const due: number[] = [];
    for (const topic of ["a", "other", "b", "", "c"]) {
      const offsets = await pair.publish({ topic, data: topic });
      if (["a", "b", ""].includes(topic)) due.push(...offsets);
    }
    await pair.expectExactly(stream, due);
  },

  "the reader of a quiet topic earns a cursor all the same, and resumes with it": async (pair) => {
    const stream = await pair.open({ query: "?topic=quiet" });
    const [head] = (await pair.publish({ topic: "loud", data: "x", count: 40 })).slice(-1);
    await eventually(async () => (await cursorOf(stream)).endsWith(`:${head}`), {
      what: "an id alone",
    });
    pair.proxy.cut();
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await pair.expectExactly(stream, []);
    assertEquals(stream.told("revalidate").length, 1);
  },

  "it says which wire it speaks, and one that does not is counted apart": async (pair) => {
    const before = await pair.fixture.state();
    await pair.open();
    const between = await pair.fixture.state();
    assertEquals(between.v3_connects, before.v3_connects + 1);
    assertEquals(between.legacy_connects, before.legacy_connects);
    const raw = await pair.server.open();
    await raw.hello();
    const after = await pair.fixture.state();
    assertEquals(after.v3_connects, between.v3_connects);
    assertEquals(after.legacy_connects, between.legacy_connects + 1);
  },

  "with its cursor in the query it sends no header of its own, and resumes": async (pair) => {
    const before = (await pair.fixture.state()).legacy_connects;
    const stream = await pair.open({ presentCursor: "query", query: "?topic=a" });
    const seen = await pair.publish({ topic: "a", data: "x", count: 3 });
    await stream.until("3 frames", () => stream.offsets.length === 3);
    await stream.order({ do: "stop" });
    const missed = await pair.publish({ topic: "a", data: "y", count: 3 });
    await stream.order({ do: "start" });
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await pair.expectExactly(stream, [...seen, ...missed]);
    assertEquals((await pair.fixture.state()).legacy_connects, before + 2);
  },

  "reconnect resumes, and a dropped cursor makes the next hello fresh": async (pair) => {
    const stream = await pair.open();
    const seen = await pair.publish({ data: "x", count: 2 });
    await stream.until("2 frames", () => stream.offsets.length === 2);
    await stream.order({ do: "reconnect" });
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await stream.order({ do: "resetCursor" });
    const { verdict, generation } = await stream.next("hello");
    assertEquals([verdict, generation], ["fresh", 3]);
    await stream.until("the second run", () => stream.records("revalidated")[1]);
    await pair.expectExactly(stream, seen);
  },

  "renewed credentials do not disturb an open stream": async (pair) => {
    const stream = await pair.open();
    assertEquals((await stream.order({ do: "credentialsChanged" })).state, "open");
    await pair.expectExactly(stream, []);
    assertEquals(stream.records("hello").length, 1);
  },

  "a cursor from a store resumes, but the application is brought up to date": async (pair) => {
    const [offset = NaN] = await pair.publish({ data: "seen" });
    const missed = await pair.publish({ data: "missed", count: 3 });
    const { epoch } = (await pair.fixture.state()).position;
    const cursor = `${epoch}:${offset}`;
    const stream = await pair.open({ saved: { cursor, unverified: false } });
    assertEquals(stream.records("hello").map(({ verdict }) => verdict), ["resumed"]);
    assertEquals(causes(stream), [{ cause: "restored", full: true }]);
    await pair.expectExactly(stream, missed);
    const newest = await cursorOf(stream);
    const saved = await stream.until("the newest cursor in the store", () => {
      return stream.told("saved").find(({ saved }) => saved.cursor === newest);
    });
    assertEquals(saved.saved.unverified, false);

    const kept = await pair.open({ saved: { cursor, unverified: false, stateKept: true } });
    await kept.until("the missed frames", () => kept.offsets.length === missed.length + 1);
    assertEquals(causes(kept), []);
  },

  "a cursor beyond the head is refused, and the client goes on from the head": async (pair) => {
    const [head = NaN] = await pair.publish();
    const { epoch } = (await pair.fixture.state()).position;
    const saved = { cursor: `${epoch}:${head + 100}`, unverified: false, stateKept: true };
    const stream = await pair.open({ saved });
    assertEquals(stream.records("hello").map(({ verdict }) => verdict), ["gap_ahead"]);
    assertEquals(causes(stream), [{ cause: "hello", full: true }]);
    assertEquals(await cursorOf(stream), `${epoch}:${head}`);
    await pair.expectExactly(stream, []);
  },
};

/** What it would present now. */
export async function cursorOf(stream: ClientStream): Promise<string> {
  return (await stream.order({ do: "look" })).cursor;
}

/** Why each revalidation ran, and whether it was full. */
export function causes(stream: ClientStream): { cause: string; full: boolean }[] {
  return stream.told("revalidate").map(({ context: { cause, full } }) => ({ cause, full }));
}

/** Publishes, and waits until a stream was given it. */
export async function give(pair: Pair, stream: ClientStream, count: number): Promise<number[]> {
  const offsets = await pair.publish({ data: "x", count });
  await stream.until(`offset ${offsets.at(-1)}`, () => stream.offsets.at(-1) === offsets.at(-1));
  return offsets;
}
