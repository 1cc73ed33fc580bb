import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { anyFate, busiest, type Fate, weather } from "../../../model/client_storm.ts";
import { test } from "../../../support/test.ts";

const MINUTE_MS = 60_000;
/**
 * With the mean chance the waits are 0.25, 0.5, 1, 2, 4, 8 and then 15 s: nine attempts in a minute.
 * A stream that was open for 30 s begins anew: then seven may come before it, and six after it.
 */
const MOST_ON_AVERAGE = 13;
/** From the eighth failure on a wait is up to 30 s, evenly: so many are a chance below 1 in 10^12. */
const MOST = 30;
const fates = fc.array(anyFate, { minLength: 1, maxLength: 8 });

test("whatever the server does, a client connects at most 13 times a minute when chance is the mean", () =>
  fc.assert(
    fc.asyncProperty(fates, async (made) => {
      const chance = { always: 0.5 };
      const asked = await weather({ fates: made, chance, looks: [], forMs: 6 * MINUTE_MS });
      const most = busiest(asked, MINUTE_MS);
      assert(most <= MOST_ON_AVERAGE, `${most} attempts within a minute: ${asked}`);
    }),
    { numRuns: 150 },
  ));

test("whatever the server and chance do, a client connects at most 30 times a minute", () =>
  fc.assert(
    fc.asyncProperty(fates, fc.nat(), async (made, seed) => {
      const chance = { seed };
      const asked = await weather({ fates: made, chance, looks: [], forMs: 6 * MINUTE_MS });
      const most = busiest(asked, MINUTE_MS);
      assert(most <= MOST, `${most} attempts within a minute: ${asked}`);
    }),
    { numRuns: 150 },
  ));

test("each look at the page adds one attempt at most", () =>
  fc.assert(
    fc.asyncProperty(
      fates,
      fc.array(fc.nat({ max: 2 * MINUTE_MS }), { maxLength: 30 }),
      async (made, looks) => {
        const chance = { always: 0.5 };
        const asked = await weather({ fates: made, chance, looks, forMs: 2 * MINUTE_MS });
        for (const from of asked) {
          const within = (at: number): boolean => at >= from && at < from + MINUTE_MS;
          const most = MOST_ON_AVERAGE + looks.filter(within).length;
          const count = asked.filter(within).length;
          assert(
            count <= most,
            `${count} attempts within a minute, ${most} are the most: ${asked}`,
          );
        }
      },
    ),
    { numRuns: 100 },
  ));

test("the bound is met, and a server that is well is far from it", async () => {
  const chance = { always: 0.5 };
  const count = async (made: readonly Fate[]): Promise<number> =>
    busiest(await weather({ fates: made, chance, looks: [], forMs: 6 * MINUTE_MS }), MINUTE_MS);
  const lost: Fate = { is: "lost" };
  const open: Fate = { is: "open", retryMs: 0, ms: 30_000, end: "clean" };
  assertEquals(await count([lost, lost, lost, lost, lost, lost, open]), MOST_ON_AVERAGE);
  assertEquals(await count([lost]), 9);
  assertEquals(await count([open]), 2);
});
