/**
 * A process that has a journal open: it can be killed as no journal in the test's own process can.
 *
 * `hold PATH` opens it and waits; `append PATH` appends as fast as it can. Each line on stdout is
 * `open EPOCH`, `stored N OFFSET` (the event with the data N is stored there), or `refused FAULT`.
 *
 * @module
 */
import { writeSync } from "node:fs";
import process from "node:process";
import { JournalError } from "../../../src/errors/journal.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import { openSqliteJournal } from "../../../src/journal/sqlite.ts";
import { openPath } from "./sqlite_driver.ts";

/** How many appends are under way at once. */
const WRITERS = 20;

/** A process that nobody kills ends by itself. */
const LIFE_MS = 30_000;

const [command, path = ""] = process.argv.slice(2);
setTimeout(() => process.exit(1), LIFE_MS);

/** At once: what was said before a kill is in the pipe. */
function say(line: string): void {
  const bytes = new TextEncoder().encode(`${line}\n`);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes.subarray(at));
    } catch (error) {
      // Node makes its pipes so that they refuse what they have no room for.
      if ((error as { code?: unknown }).code !== "EAGAIN") throw error;
    }
  }
}

async function write(journal: Journal, writer: number): Promise<void> {
  for (let n = writer;; n += WRITERS) {
    const event = { topic: `t${n % 3}`, name: "", data: String(n), at: Date.now() };
    const { offset } = await journal.append(event);
    say(`stored ${n} ${offset}`);
  }
}

async function main(): Promise<void> {
  if (openPath === undefined) throw new Error("Cannot open a database: there is no driver");
  const journal = await openSqliteJournal(openPath(path));
  say(`open ${(await journal.window()).epoch}`);
  if (command !== "append") return;
  for (let writer = 0; writer < WRITERS; writer++) void write(journal, writer);
}

main().catch((error: unknown) => {
  say(`refused ${error instanceof JournalError ? error.fault : String(error)}`);
  process.exit(1);
});
