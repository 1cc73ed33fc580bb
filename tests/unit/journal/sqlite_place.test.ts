import { assertEquals, assertStringIncludes } from "@std/assert";
import { copyFile, rename } from "node:fs/promises";
import { eventually } from "../../support/poll.ts";
import { openPath, seesReplacedFile } from "./sqlite_driver.ts";
import { dataOf, eventOf, faultOf, fileTest } from "./sqlite_world.ts";

/** A path that an address has to quote. */
const NAME = "a journal ?#%41 of mine.db";

if (seesReplacedFile) {
  fileTest(
    "a file that is replaced under a journal is seen within a second or so",
    async (world) => {
      const database = world.connect(NAME);
      const first = await world.open(database);
      await first.append(eventOf("a"));
      await first.close();
      await copyFile(world.path(NAME), world.path("copy.db"));
      const journal = await world.open(database);
      await journal.append(eventOf("b"));
      await rename(world.path(NAME), world.path("moved.db"));
      await rename(world.path("copy.db"), world.path(NAME));
      const message = await eventually(
        () => journal.append(eventOf("lost")).then(() => "", String),
        { what: "an append to be refused", timeoutMs: 3000 },
      );
      assertStringIncludes(message, "its file was replaced by another one");
      assertEquals(await faultOf(journal.window()), "unavailable");
      assertEquals(await faultOf(journal.append(eventOf("c"))), "unavailable");

      // Where it was put back, it is the journal's again.
      await rename(world.path("moved.db"), world.path(NAME));
      assertEquals((await dataOf(journal)).slice(0, 2), ["a", "b"]);
    },
  );

  fileTest("a file that was taken away is seen within a second or so", async (world) => {
    const journal = await world.open(world.connect(NAME));
    await journal.append(eventOf("a"));
    await rename(world.path(NAME), world.path("moved.db"));
    const message = await eventually(
      () => journal.window().then(() => "", String),
      { what: "a look to be refused", timeoutMs: 3000 },
    );
    assertStringIncludes(message, "its file is no longer in its place");
  });
} else {
  fileTest(
    "where SQLite takes no address, the place of a file with any name is not looked at",
    async (world) => {
      const journal = await world.open(world.connect(NAME));
      await journal.append(eventOf("a"));
      assertEquals(await dataOf(journal), ["a"]);
    },
  );
}

fileTest("a journal in memory has no place, and works", async (world) => {
  if (openPath === undefined) return;
  const database = openPath(":memory:");
  const journal = await world.open(database);
  await journal.append(eventOf("a"));
  assertEquals(await dataOf(journal), ["a"]);
  await journal.close();
  database.close();
});
