/**
 * A stream under any schedule. What is checked, after every step and at the end, stands in
 * `tests/model/client_page.ts`, `client_reasons.ts` and `client_world.ts`:
 *
 * - A frame is handed over once at most in the life of a page's memory, in order, as it was published,
 *   and never while a revalidation runs. No frame comes on a connection before a revalidation has
 *   begun for what the connection will not bring.
 * - At rest every frame that the hub published is known: it was handed over and not rejected, or a
 *   revalidation that was fulfilled, or the whole of a snapshot, began after it was published. What a
 *   rejected revalidation owes may wait for the next hello.
 * - What is kept as verified stands for no frame that is not known at that moment.
 * - A revalidation has a reason, and the cause that says which; there are no more of them than
 *   reasons; and never two at once, unless one was aborted 30 s ago and has not settled since.
 *   A wake is followed by one, or joins one that began in the second before.
 * - There are never two requests or bodies at once.
 * - After `stop()`, also from within a call back, nothing is brought or asked for any more; when the
 *   call back is over nothing is called at all, and no timer, no listener and no body is left.
 * - A cursor that was dropped is not presented again.
 *
 * @module
 */
import { assertGreaterOrEqual } from "@std/assert";
import fc from "fast-check";
import {
  anyOptions,
  anyStep,
  busyStep,
  type Step,
  type WorldOptions,
} from "../../../model/client_schedule.ts";
import { play, type Tally } from "../../../model/client_world.ts";
import { test } from "../../../support/test.ts";

/** Shrinking ends in time, so that a failure comes with the schedule, not with a deadline. */
const IN_TIME = { interruptAfterTimeLimit: 40_000, markInterruptAsFailure: true };

async function everySchedule(
  step: fc.Arbitrary<Step>,
  body: WorldOptions["body"],
  numRuns: number,
): Promise<Tally> {
  const tally: Tally = new Map();
  const scripts = fc.array(step, { maxLength: 100, size: "max" });
  const property = fc.asyncProperty(anyOptions, scripts, async (options, script) => {
    await play({ ...options, body }, script, tally);
  });
  await fc.assert(property, { numRuns, ...IN_TIME });
  return tally;
}

/** A property that never met a case says nothing about it. */
function met(tally: Tally, least: Readonly<Record<string, number>>): void {
  for (const [what, times] of Object.entries(least)) {
    assertGreaterOrEqual(tally.get(what) ?? 0, times, what);
  }
}

test("under any schedule nothing is missed or brought twice, and a stopped stream is silent", async () => {
  const tally = await everySchedule(anyStep, "model", 600);
  met(tally, {
    "hello resumed": 100,
    "hello epoch_changed": 20,
    "hello gap_floor": 20,
    "hello gap_floor repair": 20,
    "hello gap_budget": 5,
    "state hidden_closed": 100,
    "state offline": 100,
    "state exhausted": 20,
    "run restored": 20,
    "run visible": 50,
    "run online": 30,
    "frame_rejected": 20,
    "held_discarded": 50,
    "revalidate_timeout": 20,
    "watchdog": 10,
  });
});

test("the same of a page that stays, with much on the wire and slow revalidations", async () => {
  const tally = await everySchedule(busyStep, "model", 600);
  met(tally, {
    "hello resumed": 100,
    "run lag": 30,
    "duplicate_frame": 30,
    "frame_rejected": 50,
    "held_discarded": 50,
    "revalidate_failed": 50,
    "disconnected second_hello": 10,
    "reset": 50,
  });
});

test("the same over the runtime's own responses and streams", async () => {
  const tally = await everySchedule(anyStep, "real", 100);
  met(tally, { "hello fresh": 50, "hello resumed": 10, "disconnected ended": 20 });
});
