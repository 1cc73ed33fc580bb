import { assert, assertEquals } from "@std/assert";
import { AppendUnknownError } from "../../../src/errors/journal.ts";
import { test } from "../../support/test.ts";
import { asJournalError } from "../../../src/journal/sqlite/faults.ts";
import { dataOf, eventOf, faultOf, fileTest, watched } from "./sqlite_world.ts";

test("what each driver throws is told by its fault", () => {
  const thrown: readonly (readonly [object, string])[] = [
    [{ message: "database is locked", errcode: 5 }, "locked"],
    [{ message: "database is locked", code: "ERR_SQLITE_ERROR" }, "locked"],
    [{ message: "database is locked", errno: 261, code: "SQLITE_BUSY_RECOVERY" }, "locked"],
    [{ message: "database table is locked", code: "SQLITE_LOCKED" }, "locked"],
    [{ message: "database or disk is full", errno: 13, code: "SQLITE_FULL" }, "full"],
    [{ message: "database or disk is full: SQLITE_FULL" }, "full"],
    [{ message: "database disk image is malformed", errcode: 267 }, "damaged"],
    [{ message: "file is not a database", code: "SQLITE_NOTADB" }, "damaged"],
    [{ message: "string or blob too big", code: "SQLITE_TOOBIG" }, "too_large"],
    [{ message: "unable to open database: /a", code: "SQLITE_CANTOPEN" }, "unavailable"],
    [{ message: "disk I/O error", errcode: 778 }, "failed"],
    [{ message: "attempt to write a readonly database", errcode: 8 }, "failed"],
    [{ message: "no such column: x", code: "SQLITE_ERROR" }, "failed"],
    [{ message: "database is not open", code: "ERR_INVALID_STATE" }, "closed"],
    [{ message: "Cannot use a closed database" }, "closed"],
  ];
  for (const [fields, fault] of thrown) {
    const error = Object.assign(new Error(), fields);
    const seen = asJournalError(error);
    assertEquals([error.message, seen.fault], [error.message, fault]);
    assertEquals(seen.cause, error);
  }
});

fileTest("a full disk refuses what it has no room for, and takes it when it has", async (world) => {
  const database = world.connect();
  const journal = await world.open(database);
  const pages = database.prepare("PRAGMA page_count").all()[0] as { page_count: number };
  const limit = (count: number): unknown =>
    database.prepare(`PRAGMA max_page_count = ${count}`).all();
  limit(pages.page_count + 4);
  const big = "x".repeat(100_000);
  const before = await journal.append(eventOf("before"));
  // In one transaction: the big one takes nothing of the others with it.
  const turn = ["a", big, "b"].map((data) => journal.append(eventOf(data)));
  assertEquals(await faultOf(turn[1] ?? Promise.resolve()), "full");
  assertEquals(await Promise.all([turn[0], turn[2]]), [
    { epoch: before.epoch, offset: before.offset + 1 },
    { epoch: before.epoch, offset: before.offset + 2 },
  ]);
  assertEquals(await faultOf(journal.append(eventOf(big))), "full");
  assertEquals(await dataOf(journal), ["before", "a", "b"]);
  limit(1_000_000);
  assertEquals((await journal.append(eventOf(big))).offset, before.offset + 3);
  assertEquals(await dataOf(journal), ["before", "a", "b", big]);
});

fileTest("one event that cannot be stored fails alone, and consumes no offset", async (world) => {
  const database = watched(world.connect(), (sql, values) => {
    if (sql.startsWith("INSERT INTO tidemark_entries") && values.includes("poison")) {
      throw new Error("a driver that does not take this value");
    }
  });
  const journal = await world.open(database);
  const turn = ["a", "poison", "b", "c"].map((data) => journal.append(eventOf(data)));
  const offsets = turn.map((each) => each.then(({ offset }) => offset, () => "refused"));
  assertEquals(await Promise.all(offsets), [1, "refused", 2, 3]);
  assertEquals(await faultOf(turn[1] ?? Promise.resolve()), "failed");
  assertEquals(await dataOf(journal), ["a", "b", "c"]);
});

fileTest("what fails in a long turn is found by halving, and the order is kept", async (world) => {
  let begun = 0;
  const database = watched(world.connect(), (sql, values) => {
    if (sql.startsWith("BEGIN")) begun++;
    if (values.includes("poison")) throw new Error("a driver that does not take this value");
  });
  const journal = await world.open(database);
  begun = 0;
  const data = Array.from({ length: 1000 }, (_, n) => n === 700 ? "poison" : `${n}`);
  const turn = data.map((each) => journal.append(eventOf(each)).then(() => each, () => "refused"));
  assertEquals(await Promise.all(turn), data.map((each) => each === "poison" ? "refused" : each));
  assertEquals(await dataOf(journal), data.filter((each) => each !== "poison"));
  assert(begun < 25, `${begun} transactions`);
});

fileTest("a disk that fails in a commit leaves the outcome open, under an id", async (world) => {
  let failing = false;
  const database = watched(world.connect(), (sql) => {
    if (failing && sql === "COMMIT") {
      throw Object.assign(new Error("disk I/O error"), { errcode: 1034 });
    }
  });
  const journal = await world.open(database);
  failing = true;
  const errors = await Promise.all([
    journal.append(eventOf("a", { id: "mine" })).catch((error: unknown) => error),
    journal.append(eventOf("b")).catch((error: unknown) => error),
  ]);
  const ids = errors.map((error) => error instanceof AppendUnknownError ? error.id : String(error));
  assertEquals(ids[0], "mine");
  assert(/^[0-9a-f]{16}$/.test(ids[1] ?? ""), ids[1]);
  failing = false;
  assertEquals(await dataOf(journal), []);
  assertEquals((await journal.append(eventOf("a", { id: "mine" }))).offset, 1);
  assertEquals((await journal.append(eventOf("a", { id: "mine" }))).offset, 1);
});

fileTest("a database that the application has closed is said to be closed", async (world) => {
  const database = world.connect();
  const prepare = { broken: false };
  const journal = await world.open(watched(database, () => {
    if (prepare.broken) throw new TypeError("The database connection is not open");
  }));
  prepare.broken = true;
  assertEquals(await faultOf(journal.append(eventOf("a"))), "closed");
  assertEquals(await faultOf(journal.window()), "closed");
  prepare.broken = false;
});

fileTest("a transaction that the application has open is not undone", async (world) => {
  const database = world.connect();
  const journal = await world.open(database);
  database.prepare("BEGIN").run();
  database.prepare("CREATE TABLE own (n)").run();
  assertEquals(await faultOf(journal.append(eventOf("a"))), "failed");
  database.prepare("COMMIT").run();
  assertEquals(database.prepare("SELECT * FROM own").all(), []);
  assertEquals((await journal.append(eventOf("a"))).offset, 1);
});

fileTest(
  "a U+0000 is kept wherever it stands, and topics with it are told apart",
  async (world) => {
    const journal = await world.open(world.connect());
    const event = eventOf("a\0b\0", { topic: "t\0x", name: "n\0" });
    await journal.append(event);
    await journal.append(eventOf("other", { topic: "t" }));
    const { entries } = await journal.read({ after: 0, topics: ["t\0x"], limit: 10 });
    const { id: _, ...fields } = { id: undefined, ...event };
    assertEquals(entries.map((entry) => ({ ...entry })), [{ offset: 1, ...fields }]);
    assertEquals(await journal.count({ after: 0, topics: ["t"] }, 10), 1);
  },
);
