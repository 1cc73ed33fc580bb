import { assertEquals } from "@std/assert";
import { journalCases, type JournalSubject } from "../../../src/journal/conformance.ts";
import { test } from "../../support/test.ts";
import { brokerSubject, type Flaw } from "./broker.ts";
import { bounded, type Flawed, flawedSubject, inBytes } from "./flawed.ts";
import { IN_READS, IN_TAILS, IN_WINDOWS } from "./flaws_reading.ts";
import { IN_APPENDS, IN_COMPANY, IN_EPOCHS, WHEN_CLOSED } from "./flaws_writing.ts";

/** The broker's, by the case that must catch each. */
const IN_BROKERS: readonly (readonly [Flaw, caughtBy: string, openers?: "many" | "one"])[] = [
  ["keeps the epoch when it comes back empty", "a store that was emptied while nobody"],
  ["tells an append the epoch from before it was emptied", "the first append after a loss"],
  ["changes the epoch at a restart", "a broker's restart keeps"],
  ["loses the newest entry at a restart", "a broker's restart keeps"],
  ["forgets ids at a restart", "a broker's restart keeps"],
  ["names another id when an outcome is unknown", "a broker's restart keeps"],
  ["hides that an older copy was put back", "an older copy that is put back"],
  ["begins at 1 again after a purge", "a purge keeps epoch and head"],
  ["changes the epoch at a purge", "a purge keeps epoch and head"],
  ["keeps the floor at a purge", "a purge keeps epoch and head"],
  ["opens what an unknown version wrote", "a store that an unknown version wrote"],
  ["opens what an unknown version wrote at the second time", "a store that an unknown version"],
  ["lets a second opener in", "a second opener is refused", "one"],
  ["stays locked after closing", "a second opener is refused", "one"],
  ["shows the old epoch's entries after a rotation", "after a rotation the head is as it was"],
  ["begins at 1 again after a rotation", "after a rotation the head is as it was"],
  ["begins at 1 again when it was trimmed to nothing", "retention by age empties"],
  ["never trims", "retention by entries keeps the newest"],
  ["trims one more than it must", "what is within every bound is kept"],
  ["trims the newest", "retention by entries keeps the newest"],
  ["trims by a fixed age", "retention by age empties"],
  ["keeps the floor when it trims", "retention by entries keeps the newest"],
  ["changes the epoch when it is opened", "an empty store keeps its epoch"],
  ["changes the epoch when it is opened", "opening again keeps epoch"],
  ["keeps the epoch when it comes back empty", "a store that came back empty"],
  ["begins at 1 again after a rotation", "no epoch and offset are given twice"],
  ["counts no bytes", "retention by bytes"],
  ["keeps the bounds of the first opener", "a tighter bound"],
  ["closes all openers with one", "an opener that closes leaves the others"],
  ["forgets ids when it is opened", "an append is known by its id after"],
  ["forgets the head when it is opened", "retention by age empties"],
];

const FLAWED: Readonly<Record<string, readonly Flawed[]>> = {
  "in its tails": IN_TAILS,
  "in its pages and counts": IN_READS,
  "in its appends": IN_APPENDS,
  "in its epochs": IN_EPOCHS,
  "once it is closed": WHEN_CLOSED,
  "in company": IN_COMPANY,
  "in its windows": IN_WINDOWS,
};

for (const [where, flaws] of Object.entries(FLAWED)) {
  test(`the suite catches each journal that is wrong ${where}`, async () => {
    const missed = flaws.map(async ([what, change, caughtBy]) =>
      await escapes(flawedSubject(change), caughtBy) ? [what] : []
    );
    assertEquals((await Promise.all(missed)).flat(), []);
  });
}

test("the suite catches each broker that loses, reuses or mixes up what it keeps", async () => {
  const missed = IN_BROKERS.map(async ([flaw, caughtBy, openers = "many"]) => {
    const subject = { ...brokerSubject(openers, flaw), patienceMs: 2000 };
    return await escapes(subject, caughtBy) ? [flaw] : [];
  });
  assertEquals((await Promise.all(missed)).flat(), []);
});

test("every case of the suite has a flaw that it catches", () => {
  const caughtBy = [
    ...Object.values(FLAWED).flat().map(([, , name]) => name),
    ...IN_BROKERS.map(([, name]) => name),
  ];
  const names = (["many", "one"] as const).flatMap((openers) =>
    journalCases(brokerSubject(openers)).map(({ name }) => name)
  );
  assertEquals(names.filter((name) => !caughtBy.some((start) => name.startsWith(start))), []);
});

test("the suite passes the same journals without a flaw", async () => {
  const right = [flawedSubject(() => ({})), flawedSubject(bounded(inBytes))];
  const failed = right.flatMap((subject) =>
    journalCases({ ...subject, patienceMs: 10_000 }).map(({ name, run }) =>
      run().then(() => [], (error: unknown) => [name, String(error)])
    )
  );
  assertEquals((await Promise.all(failed)).flat(), []);
});

/** Whether a case passes what it must not. A mistake in the flaw or the case itself is no catch. */
async function escapes(subject: JournalSubject, caughtBy: string): Promise<boolean> {
  const found = journalCases(subject).filter(({ name }) => name.startsWith(caughtBy));
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
