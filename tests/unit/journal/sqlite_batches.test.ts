import { assertEquals } from "@std/assert";
import { eventOf, fileTest, watched } from "./sqlite_world.ts";

/** Counts the transactions that were committed. */
function commits(): { count: number; readonly watch: (sql: string) => void } {
  const seen = { count: 0, watch: (sql: string): void => void (seen.count += +(sql === "COMMIT")) };
  return seen;
}

fileTest("what is appended in one turn is committed at once, in its order", async (world) => {
  const seen = commits();
  const journal = await world.open(watched(world.connect(), seen.watch));
  seen.count = 0;
  const places = await Promise.all(
    Array.from({ length: 500 }, (_, n) => journal.append(eventOf(`${n}`))),
  );
  assertEquals(seen.count, 1);
  assertEquals(places.map(({ offset }) => offset), places.map((_, n) => n + 1));
});

fileTest("what other callbacks of the same turn append is in the same commit", async (world) => {
  const seen = commits();
  const journal = await world.open(watched(world.connect(), seen.watch));
  seen.count = 0;
  const turn = Array.from({ length: 10 }, async (_, n) => {
    for (let i = 0; i < n; i++) await Promise.resolve();
    return await journal.append(eventOf(`${n}`));
  });
  await Promise.all(turn);
  assertEquals(seen.count, 1);
});

fileTest("a single append waits for no company", async (world) => {
  const seen = commits();
  const journal = await world.open(watched(world.connect(), seen.watch));
  seen.count = 0;
  const order: string[] = [];
  const timer = new Promise<void>((resolve) => {
    setTimeout(() => resolve(void order.push("a timer of 50 ms")), 50);
  });
  await journal.append(eventOf("a")).then(() => order.push("a"));
  await journal.append(eventOf("b")).then(() => order.push("b"));
  await timer;
  assertEquals(seen.count, 2);
  assertEquals(order, ["a", "b", "a timer of 50 ms"]);
});

fileTest(
  "a flood is committed in pieces, in its order, and others run in between",
  async (world) => {
    const seen = commits();
    const journal = await world.open(watched(world.connect(), seen.watch));
    seen.count = 0;
    const flood = Array.from({ length: 3500 }, (_, n) => journal.append(eventOf(`${n}`)));
    let settled = 0;
    for (const each of flood) void each.then(() => settled++);
    await flood[0];
    await Promise.resolve();
    const between = settled;
    const offsets = (await Promise.all(flood)).map(({ offset }) => offset);
    assertEquals(offsets, flood.map((_, n) => n + 1));
    assertEquals(seen.count, 4);
    assertEquals(between <= 1000, true);
  },
);
