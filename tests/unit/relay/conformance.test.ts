import { assertEquals, assertRejects } from "@std/assert";
import { relayCases, type RelaySubject } from "../../../src/relay/conformance.ts";
import { test } from "../../support/test.ts";
import { flawedSubject } from "./flawed.ts";
import { FLAWS } from "./flaws.ts";
import { memorySubject, worldSubject } from "./memory_subject.ts";

const SHARED = "another audience hears nothing";

test("each case has a name of its own, and is listed for whoever can be put through it", () => {
  const names = (subject: RelaySubject): string[] => relayCases(subject).map(({ name }) => name);
  const [all, without] = [names(worldSubject), names(memorySubject)];
  assertEquals(new Set(all).size, all.length);
  assertEquals(all.filter((name) => !without.includes(name)), [
    "an attempt while the broker is away waits, and is confirmed when it is back",
    "an attempt is given up while the broker is away, with the signal's reason",
    "an attempt that is under way when its relay is closed is rejected as closed",
    "an interruption is told to each listener exactly once, and what is sent then arrives",
    "of several interruptions each is told once, and after each what is sent arrives",
    "what is sent while the broker is away is kept or lost, but harms nobody",
    "a subscription that is closed while the broker is away is told nothing afterwards",
  ]);
});

test("the suite catches each relay that is wrong", async () => {
  const missed = FLAWS.map(async ([what, change, caughtBy]) =>
    await escapes(flawedSubject(change), caughtBy) ? [what] : []
  );
  assertEquals((await Promise.all(missed)).flat(), []);
  assertEquals(
    await escapes(flawedSubject(() => ({}), true), SHARED),
    false,
    "one audience for all",
  );
});

test("every case of the suite has a flaw that it catches", () => {
  const caughtBy = [...FLAWS.map(([, , name]) => name), SHARED];
  const names = relayCases(worldSubject).map(({ name }) => name);
  assertEquals(names.filter((name) => !caughtBy.some((start) => name.startsWith(start))), []);
});

test("the suite passes the same relays without a flaw", async () => {
  const cases = relayCases({ ...flawedSubject(() => ({})), patienceMs: 10_000 });
  const failed = cases.map(({ name, run }) =>
    run().then(() => [], (error: unknown) => [name, String(error)])
  );
  assertEquals((await Promise.all(failed)).flat(), []);
});

test("a subject that names what its audiences cannot do is told so", async () => {
  const [first] = relayCases({ ...memorySubject, hooks: ["interrupt"] });
  await assertRejects(() => first?.run() ?? Promise.resolve(), Error, "which its subject names");
});

/** Whether a case passes what it must not. A mistake in the flaw or the case itself is no catch. */
async function escapes(subject: RelaySubject, caughtBy: string): Promise<boolean> {
  const found = relayCases(subject).filter(({ name }) => name.startsWith(caughtBy));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`There are ${found.length} cases that begin with ${caughtBy}`);
  }
  try {
    await only.run();
    return true;
  } catch (error) {
    const mistake = error instanceof TypeError || error instanceof ReferenceError;
    if (mistake || !(error instanceof Error)) throw error;
    return false;
  }
}
