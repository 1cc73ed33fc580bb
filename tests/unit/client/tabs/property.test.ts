import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../support/test.ts";
import { happen, schedules } from "./sim/schedule.ts";
import { World, type WorldOptions } from "./sim/world.ts";

const RUNS = 200;

async function check(options: WorldOptions, modes: readonly string[]): Promise<void> {
  const property = fc.asyncProperty(
    schedules(12),
    fc.integer({ min: 1, max: 1_000_000 }),
    async (schedule, seed) => {
      const world = new World({ ...options, seed });
      world.open();
      await happen(world, schedule);
      assertEquals(world.faults, []);
      const here = world.present;
      for (const page of here) {
        const told = [page.known, page.tab.state(), page.tab.mode(), page.kinds().slice(-20)]
          .join();
        assertEquals(
          page.current,
          true,
          `${told}; server ${world.server.cursor(world.server.head)}`,
        );
        assertEquals(modes.includes(page.tab.mode()), true, page.tab.mode());
      }
      assertEquals(
        here.filter((page) => page.tab.mode() === "leader").length,
        Number(modes.includes("leader") && here.length > 0),
      );
      const alone = modes.includes("own");
      assertEquals(world.server.open, alone ? here.length : Math.min(here.length, 1));
      const counts = here.map(({ frames }) => frames.length);
      world.server.publish(3);
      await world.advance(1000);
      assertEquals(here.map(({ frames }) => frames.length), counts.map((count) => count + 3));
      assertEquals(world.faults, []);
    },
  );
  await fc.assert(property, { numRuns: RUNS });
}

test("over a worker, whatever happens, each tab gets every frame once and in order, or revalidates", async () => {
  await check({}, ["worker"]);
});

test("over a leader, whatever happens, each tab gets every frame once and in order, or revalidates", async () => {
  await check({ workers: false }, ["leader", "follower"]);
});

test("alone, whatever happens, each tab gets every frame once and in order, or revalidates", async () => {
  await check({ workers: false, elections: false }, ["own"]);
});
