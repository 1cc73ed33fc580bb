import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { AckWindow } from "../../../src/adapters/cloudflare/hop/window.ts";
import { ACK_BYTES, WINDOW_BYTES } from "../../../src/adapters/cloudflare/hop/wire.ts";
import type { SubscribeOptions } from "../../../src/hub/types.ts";
import { ConnectionGoneError } from "../../../src/errors.ts";
import { createMemoryJournal } from "../../../src/journal/memory.ts";
import { encodeFrame } from "../../../src/wire/frame.ts";
import { test } from "../../support/test.ts";
import { type HopClient, HopWorld, settle } from "./cloudflare_hop_world.ts";

const TOPICS = ["a", "b", "c"] as const;
const LARGEST = 1_000_000;

type Op =
  | { readonly kind: "publish"; readonly topic: string; readonly size: number }
  | { readonly kind: "hear" | "read"; readonly client: number; readonly count: number }
  | { readonly kind: "break"; readonly client: number }
  | { readonly kind: "sleep" | "reset" }
  | { readonly kind: "time"; readonly ms: number };

const client = fc.nat(2);
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("publish" as const),
      topic: fc.constantFrom("", ...TOPICS),
      size: fc.oneof(
        { weight: 8, arbitrary: fc.nat(200) },
        { weight: 3, arbitrary: fc.constantFrom(40_000, 90_000) },
        { weight: 1, arbitrary: fc.constant(LARGEST) },
      ),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("hear" as const, "read" as const),
      client,
      count: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("break" as const), client }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom("sleep" as const, "reset" as const) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("time" as const),
      ms: fc.integer({ min: 1, max: 5000 }),
    }),
  },
);

/** Reads until nothing comes any more, whatever was broken before. */
async function drain(world: HopWorld, one: HopClient): Promise<void> {
  for (let quiet = 0; quiet < 8;) {
    const { length } = one.seen;
    // Long enough for a line to come back, and not so long that it gives up.
    world.clock.advance(300);
    await settle();
    one.wire.deliver();
    await one.read();
    quiet = one.seen.length === length ? quiet + 1 : 0;
  }
}

interface Published {
  readonly topic: string;
  readonly offset: number;
}

/** Does it all, and says what was published. */
async function perform(world: HopWorld, ops: readonly Op[]): Promise<Published[]> {
  const published: Published[] = [];
  for (const one of ops) {
    switch (one.kind) {
      case "publish": {
        const offset = await world.publish(
          one.topic,
          `${published.length} ${"x".repeat(one.size)}`,
        );
        published.push({ topic: one.topic, offset });
        break;
      }
      case "hear":
        world.clients[one.client]?.wire.deliver(one.count);
        break;
      case "read":
        for (let n = 0; n < one.count; n++) await world.clients[one.client]?.read();
        break;
      case "break":
        world.clients[one.client]?.wire.break();
        break;
      case "sleep":
        await world.sleep();
        break;
      case "reset":
        await world.reset();
        break;
      case "time":
        world.clock.advance(one.ms);
    }
    await settle();
  }
  return published;
}

function offsetsFor(topics: readonly string[] | null, published: readonly Published[]): number[] {
  return published.filter(({ topic }) => topics === null || topic === "" || topics.includes(topic))
    .map(({ offset }) => offset);
}

test("whatever sleeps, breaks off or does not read, every client gets exactly its events, in order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(op, { maxLength: 60 }), async (ops) => {
      const world = new HopWorld();
      await world.wake();
      const listens = [null, ["a"], ["b", "c"]];
      for (const topics of listens) await world.join(topics);
      const published = await perform(world, ops);
      for (const [index, one] of world.clients.entries()) {
        await drain(world, one);
        assertEquals(one.offsets, offsetsFor(listens[index] ?? null, published));
        assert(one.peak < WINDOW_BYTES + LARGEST + 100, `${one.peak} bytes were on their way`);
      }
      world.stop();
    }),
    { numRuns: 200 },
  );
});

test("a topic that is subscribed late is complete and without a repetition, whatever happens meanwhile", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(op, { maxLength: 30 }),
      fc.array(op, { maxLength: 30 }),
      fc.constantFrom<SubscribeOptions>({ history: true }, { history: { last: 3 } }, {}),
      async (before, after, options) => {
        const world = new HopWorld();
        await world.wake();
        const one = await world.join(["b"]);
        const first = await perform(world, before);
        const known = world.clients[0]?.wire.connection?.over === false;
        await world.subscribe(one, "a", options);
        const second = await perform(world, after);
        await drain(world, one);
        world.stop();
        const broke = after.some(({ kind }) => kind === "break" || kind === "reset");
        assert(broke || !one.reset, "it was sent away for nothing");
        // A history that broke off is not patched up: its client comes back, and asks for it again.
        if (!known || one.reset) return;
        const past = first.filter(({ topic }) => topic === "a");
        const { history } = options;
        const last = typeof history === "object" && "last" in history ? history.last : Infinity;
        const wanted = history === undefined
          ? []
          : past.slice(-Math.min(last, past.length) || Infinity);
        assertEquals(one.history, wanted.map(({ offset }) => offset - 1));
        assertEquals(one.offsets, [
          ...offsetsFor(["b"], first),
          ...offsetsFor(["a", "b"], second),
        ]);
      },
    ),
    { numRuns: 200 },
  );
});

test("what the journal no longer holds is told exactly, or ends the stream, and is never passed over", async () => {
  const bursts = fc.array(
    fc.array(fc.constantFrom("", "a", "b"), { minLength: 1, maxLength: 30 }),
    {
      maxLength: 6,
    },
  );
  let holes = 0;
  await fc.assert(
    fc.asyncProperty(bursts, fc.array(op, { maxLength: 10 }), async (all, ops) => {
      const world = new HopWorld(createMemoryJournal({ retention: { maxEntries: 8 } }));
      await world.wake();
      const listens = [null, ["a"], ["a", "b"]];
      for (const topics of listens) await world.join(topics, topics?.length !== 1);
      const published: Published[] = [];
      for (const [index, topics] of all.entries()) {
        const offsets = await world.burst(topics);
        topics.forEach((topic, at) => published.push({ topic, offset: offsets[at] ?? 0 }));
        published.push(...await perform(world, ops.slice(2 * index, 2 * index + 2)));
      }
      for (const [index, one] of world.clients.entries()) {
        await drain(world, one);
        const { offsets, lags, reset, row } = one;
        holes += lags.length;
        assertEquals(row.lag || lags.length === 0, true);
        // All that is its, but for what it was told is missing, until it was sent away.
        const told = offsetsFor(listens[index] ?? null, published)
          .filter((offset) => !lags.some(([from, to]) => offset > from && offset <= to));
        assertEquals(offsets, reset ? told.slice(0, offsets.length) : told);
      }
      world.stop();
    }),
    { numRuns: 150 },
  );
  assert(holes > 0, "there was no hole");
});

test("a window never lets more than its bound and one frame go ahead of what was taken", () => {
  fc.assert(fc.property(
    fc.array(fc.record({ send: fc.nat(400_000), ack: fc.nat(3_000_000) }), { maxLength: 50 }),
    (steps) => {
      const window = new AckWindow({ sent: 0, acked: 0 });
      for (const { send, ack } of steps) {
        if (window.room > 0) {
          const before = window.sent - window.acked;
          window.send(send);
          assert(before < WINDOW_BYTES);
        }
        const { acked, sent } = window;
        window.ack(ack);
        // What goes back, or ahead of what was sent, is not believed.
        assertEquals(window.acked, ack > acked && ack <= sent ? ack : acked);
        assertEquals(window.room, Math.max(0, WINDOW_BYTES - (window.sent - window.acked)));
      }
    },
  ));
});

test("a Worker that has handed everything on has acknowledged enough for the next frame", () => {
  assert(ACK_BYTES < WINDOW_BYTES);
});

test("frames that a hook writes without waiting go no further ahead than any others, and in order", async () => {
  const world = new HopWorld();
  await world.wake();
  const one = await world.join(["a"]);
  const { connection } = one.wire;
  const written = Array.from(
    { length: 20 },
    (_, n) => connection?.write(encodeFrame(null, "hooked", `${n} ${"x".repeat(50_000)}`)),
  );
  await settle();
  await drain(world, one);
  await Promise.all(written);
  assert(one.peak <= WINDOW_BYTES + 60_000, `${one.peak} bytes were ahead`);
  const hooked = one.seen.filter(({ name }) => name === "hooked");
  assertEquals(hooked.map(({ data }) => parseInt(data)), Array.from({ length: 20 }, (_, n) => n));
  connection?.leave(false, "dead");
  const late = await connection?.write(new Uint8Array(1)).catch((error: unknown) => error);
  assert(late instanceof ConnectionGoneError);
  assertEquals(late.cause, "dead");
  world.stop();
});

test("a topic that is subscribed with a cursor and a history gets whichever reaches back further", async () => {
  const world = new HopWorld();
  await world.wake();
  const { epoch } = await world.journal.window();
  const one = await world.join(["a"]);
  for (let n = 1; n <= 6; n++) await world.publish("b", `${n}`);
  const after = `${epoch}:2`;
  await world.subscribe(one, "b", { history: { last: 1 }, after });
  await drain(world, one);
  assertEquals(one.history, [3, 4, 5, 6]);
  await world.subscribe(one, "b", { history: { last: 5 }, after });
  await drain(world, one);
  assertEquals(one.history.slice(4), [2, 3, 4, 5, 6]);
  world.stop();
});
