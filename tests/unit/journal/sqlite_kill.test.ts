import { assert, assertEquals } from "@std/assert";
import type { JournalEntry } from "../../../src/journal/journal.ts";
import { JournalProcess } from "./sqlite_process.ts";
import { faultOf, fileTest, type World } from "./sqlite_world.ts";

const KILLS = 5;

async function readFile(world: World): Promise<readonly [epoch: string, JournalEntry[]]> {
  const journal = await world.open(world.connect());
  const entries: JournalEntry[] = [];
  for (let after = 0;;) {
    const page = await journal.read({ after, topics: null, limit: 1000 });
    entries.push(...page.entries);
    after = page.through;
    if (after < page.head) continue;
    await journal.close();
    return [page.epoch, entries];
  }
}

fileTest(
  "a kill -9 amid appends keeps the epoch, and every acknowledged event once",
  async (world) => {
    const epochs = new Set<string>();
    let before = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const child = await JournalProcess.start("append", world.path());
      // Some before the first checkpoint, some after many.
      await child.until(200 + 4000 * kill);
      await child.kill();

      const [epoch, all] = await readFile(world);
      const entries = all.slice(before);
      const told = child.lines.map((line) => line.split(" "));
      epochs.add(epoch);
      assertEquals(told[0], ["open", epoch]);
      assertEquals(all.map(({ offset }) => offset), all.map((_, index) => index + 1));
      const data = new Map(entries.map((entry) => [entry.offset, entry.data]));
      assertEquals(new Set(data.values()).size, entries.length, "no event is there twice");
      for (const [what, n = "", offset] of told.slice(1)) {
        assertEquals([what, data.get(Number(offset))], ["stored", n]);
      }
      assert(entries.length >= told.length - 1);
      before = all.length;
    }
    assertEquals(epochs.size, 1);
  },
  { foreignTimers: true },
);

fileTest(
  "a file is refused while another process has it, and free once that was killed",
  async (world) => {
    const holder = await JournalProcess.start("hold", world.path());
    const database = world.connect();
    assertEquals(await faultOf(world.open(database)), "locked");
    await holder.kill();

    const journal = await world.open(database);
    assertEquals(holder.lines, [`open ${(await journal.window()).epoch}`]);
    const second = await JournalProcess.start("hold", world.path());
    assertEquals(second.lines, ["refused locked"]);
    await second.kill();
    await journal.close();
    // The application has not closed its connection yet.
    const third = await JournalProcess.start("hold", world.path());
    assertEquals(third.lines, holder.lines);
    await third.kill();
  },
  { foreignTimers: true },
);
