import { assertEquals, assertStringIncludes } from "@std/assert";
import { readFile, writeFile } from "node:fs/promises";
import { ConfigError } from "../../../src/errors.ts";
import type { SqliteDatabase } from "../../../src/journal/sqlite.ts";
import { dataOf, eventOf, faultOf, fileTest, type World } from "./sqlite_world.ts";

async function stored({ connect, open }: World, data: readonly string[]): Promise<void> {
  const journal = await open(connect());
  for (const each of data) await journal.append(eventOf(each));
  await journal.close();
}

fileTest("one database takes one journal, and another one when that was closed", async (world) => {
  const database = world.connect();
  const journal = await world.open(database);
  await journal.append(eventOf("a"));
  assertEquals(await faultOf(world.open(database)), "locked");
  await journal.append(eventOf("b"));
  await journal.close();
  assertEquals(await dataOf(await world.open(database)), ["a", "b"]);
});

fileTest("a file that was read before it was handed in is locked all the same", async (world) => {
  await stored(world, ["a"]);
  const database = world.connect();
  assertEquals(database.prepare("SELECT count(*) AS n FROM tidemark_entries").all().length, 1);
  await world.open(database);
  assertEquals(await faultOf(world.open(world.connect())), "locked");
});

fileTest("a database that was refused can be opened once the file is free", async (world) => {
  const first = await world.open(world.connect());
  const database = world.connect();
  assertEquals(await faultOf(world.open(database)), "locked");
  await first.close();
  await world.open(database);
});

fileTest("a closed journal is one file, which can be copied", async (world) => {
  await stored(world, ["a", "b"]);
  await writeFile(world.path("copy.db"), await readFile(world.path()));
  assertEquals(await dataOf(await world.open(world.connect("copy.db"))), ["a", "b"]);
});

fileTest(
  "a write-ahead log is used, and a commit waits for the disk unless told",
  async (world) => {
    const synchronous = async (option?: "full" | "normal"): Promise<unknown> => {
      const database = world.connect();
      const options = option === undefined ? {} : { synchronous: option };
      const journal = await world.open(database, options);
      const [mode] = database.prepare("PRAGMA journal_mode").all();
      assertEquals({ ...mode as object }, { journal_mode: "wal" });
      const [setting] = database.prepare("PRAGMA synchronous").all();
      await journal.close();
      return (setting as { synchronous: unknown }).synchronous;
    };
    assertEquals(await synchronous(), 2);
    assertEquals(await synchronous("full"), 2);
    assertEquals(await synchronous("normal"), 1);
  },
);

fileTest("another application's file is refused and left as it was", async (world) => {
  const database = world.connect("other.db");
  database.prepare("CREATE TABLE notes (text)").run();
  database.prepare("INSERT INTO notes VALUES ('mine')").run();
  const before = await readFile(world.path("other.db"));
  assertEquals(await faultOf(world.open(database)), "format");
  assertEquals(await readFile(world.path("other.db")), before);
  // Others may open it: nothing of the attempt is left.
  const notes = world.connect("other.db").prepare("SELECT text FROM notes").all();
  assertEquals(notes.map((row) => ({ ...row as object })), [{ text: "mine" }]);

  const logged = world.connect("logged.db");
  logged.prepare("PRAGMA journal_mode = WAL").all();
  logged.prepare("CREATE TABLE notes (text)").run();
  assertEquals(await faultOf(world.open(logged)), "format");
  // What the header says of the log.
  assertEquals((await readFile(world.path("logged.db")))[18], 2);

  const marked = world.connect("marked.db");
  marked.prepare("PRAGMA application_id = 252006675").run();
  assertEquals(await faultOf(world.open(marked)), "format");
});

fileTest("a format that is not known is named in the refusal", async (world) => {
  await stored(world, ["a"]);
  const database = world.connect();
  database.prepare("UPDATE tidemark_journal SET format = 7").run();
  const error = await world.open(database).then(() => "", String);
  assertStringIncludes(error, "its tables are of format 7, this version of the library knows 1");
});

fileTest("a file that is no database is refused as damaged", async (world) => {
  await writeFile(world.path("text.db"), "what somebody wrote into it\n".repeat(400));
  assertEquals(await faultOf(world.open(world.connect("text.db"))), "damaged");
});

fileTest("a file whose pages were overwritten is refused as damaged", async (world) => {
  await stored(world, Array.from({ length: 300 }, (_, n) => `${n} `.repeat(100)));
  const bytes = await readFile(world.path());
  // All but the header and the page of the schema.
  bytes.fill(0xa5, 4096);
  await writeFile(world.path(), bytes);
  assertEquals(await faultOf(world.open(world.connect())), "damaged");
});

const CONTRADICTIONS = {
  "its head is below its last entry": "UPDATE tidemark_journal SET head = 1",
  "its last entries are missing": "DELETE FROM tidemark_entries WHERE offset > 1",
  "its epoch is none": "UPDATE tidemark_journal SET epoch = 'x'",
  "its head is a text": "UPDATE tidemark_journal SET head = 'many'",
};

for (const [what, sql] of Object.entries(CONTRADICTIONS)) {
  fileTest(`a file that contradicts itself is refused as damaged: ${what}`, async (world) => {
    await stored(world, ["a", "b", "c"]);
    const database = world.connect();
    database.prepare(sql).run();
    assertEquals(await faultOf(world.open(database)), "damaged");
  });
}

fileTest(
  "a file that lost its record goes on with the numbers, in another epoch",
  async (world) => {
    await stored(world, ["a", "b"]);
    const database = world.connect();
    database.prepare("DELETE FROM tidemark_journal").run();
    const journal = await world.open(database);
    assertEquals(await dataOf(journal), []);
    assertEquals((await journal.append(eventOf("c"))).offset, 3);
    assertEquals(await dataOf(journal), ["c"]);
  },
);

fileTest("a bound that makes no sense is refused before the file is touched", async (world) => {
  const database = world.connect();
  const error = await world.open(database, { retention: { maxEntries: -1 } })
    .then(() => undefined, (error: unknown) => error);
  assertEquals(error instanceof ConfigError && error.option, "retention.maxEntries");
  await world.open(database);
});

fileTest("a driver that gives every integer as a BigInt will do", async (world) => {
  const plain = world.connect();
  const database: SqliteDatabase = {
    prepare(sql) {
      const statement = plain.prepare(sql);
      return {
        run: (...values) => statement.run(...values),
        all: (...values) => statement.all(...values).map(withBigInts),
      };
    },
  };
  const first = await world.open(database, { retention: { maxEntries: 2 } });
  for (const data of ["a", "b", "c"]) await first.append(eventOf(data, { topic: data }));
  await first.close();
  const second = await world.open(database);
  assertEquals(await dataOf(second), ["b", "c"]);
  assertEquals(await second.count({ after: 0, topics: ["a", "b"] }, 10), 1);
});

function withBigInts(row: unknown): unknown {
  const values = Object.entries(row as Record<string, unknown>);
  return Object.fromEntries(
    values.map(([name, value]) => [name, typeof value === "number" ? BigInt(value) : value]),
  );
}
