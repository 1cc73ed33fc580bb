import { assertEquals, assertNotEquals } from "@std/assert";
import type { OpenDatabase } from "./sqlite_driver.ts";
import { copyTables } from "./sqlite_copy.ts";
import { dataOf, eventOf, fileTest } from "./sqlite_world.ts";

function tablesOf(database: OpenDatabase): () => void {
  return copyTables((sql, ...values) => {
    const statement = database.prepare(sql);
    if (/^SELECT/.test(sql)) return statement.all(...values);
    statement.run(...values);
    return [];
  });
}

fileTest(
  "an append that finds an older copy gets a new epoch, before anybody looks",
  async (world) => {
    const database = world.connect();
    const journal = await world.open(database);
    const { epoch } = await journal.append(eventOf("a"));
    const restore = tablesOf(database);
    for (const data of ["b", "c"]) await journal.append(eventOf(data));
    restore();
    // Its number was given before, to "b".
    const next = await journal.append(eventOf("d"));
    assertEquals(next.offset, 2);
    assertNotEquals(next.epoch, epoch);
    assertEquals(await dataOf(journal), ["d"]);
    assertEquals((await journal.append(eventOf("e"))).epoch, next.epoch);
  },
);

fileTest("an epoch that ended does not come back with a copy of its time", async (world) => {
  const database = world.connect();
  const journal = await world.open(database);
  const { epoch } = await journal.append(eventOf("a"));
  const restore = tablesOf(database);
  const second = await journal.rotate(epoch);
  restore();
  const third = (await journal.window()).epoch;
  assertEquals(new Set([epoch, second, third]).size, 3);
});

fileTest("a record that somebody else has moved on is not believed", async (world) => {
  const database = world.connect();
  const journal = await world.open(database);
  const { epoch } = await journal.append(eventOf("a"));
  database.prepare("UPDATE tidemark_journal SET head = 5").run();
  database.prepare("UPDATE tidemark_entries SET offset = 5").run();
  assertNotEquals((await journal.window()).epoch, epoch);
  assertEquals((await journal.append(eventOf("b"))).offset, 6);
});

fileTest(
  "what was stored under an epoch that ended is gone for good, its ids too",
  async (world) => {
    const database = world.connect();
    const journal = await world.open(database);
    const { epoch } = await journal.append(eventOf("a", { id: "one" }));
    await journal.rotate(epoch);
    // Were the process killed now, the next one would find it in the record.
    const [record] = database.prepare("SELECT head, floor FROM tidemark_journal").all();
    assertEquals({ ...record as object }, { head: 1, floor: 2 });
    const again = await journal.append(eventOf("a", { id: "one" }));
    assertEquals(again.offset, 2);
    assertEquals((await journal.append(eventOf("a", { id: "one" }))).offset, 2);
    assertEquals(await dataOf(journal), ["a"]);
  },
);
