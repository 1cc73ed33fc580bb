/**
 * What a server must be before a journal is kept on it.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import type { Link } from "./link.ts";

/** What Redis takes in one argument unless it is told otherwise: 512 MiB. */
const MAX_BYTES = 536_870_912;

/**
 * Refuses a server that would drop entries on its own, or that takes no writes.
 *
 * @param link The connection.
 * @param warn Hears what could not be checked.
 * @returns The most bytes of one event.
 * @throws {JournalError} `unsafe` with the reason; `unavailable` when the server is away.
 */
export async function inspectServer(
  link: Link,
  warn: (message: string) => void,
): Promise<number> {
  await checkSafety(link, warn);
  try {
    const limit = valueOf(await link.command("CONFIG", "GET", "proto-max-bulk-len"));
    return limit > 0 ? Math.min(limit, MAX_BYTES) : MAX_BYTES;
  } catch (error) {
    // Many providers forbid CONFIG, and leave the bound where it was.
    if (error instanceof JournalError && error.fault === "failed") return MAX_BYTES;
    throw error;
  }
}

async function checkSafety(link: Link, warn: (message: string) => void): Promise<void> {
  const facts = await readInfo(link);
  const role = facts?.get("role");
  if (role !== undefined && role !== "master") {
    throw new JournalError("unsafe", `the server is a ${role}, which takes no writes`);
  }
  const policy = facts?.get("maxmemory_policy");
  if (policy === undefined) {
    warn(
      "Cannot check the eviction policy of Redis: INFO does not tell. It must be noeviction, or " +
        "entries of the journal may vanish.",
    );
  } else if (policy !== "noeviction") {
    throw new JournalError(
      "unsafe",
      `the maxmemory-policy of Redis is ${policy}, it must be noeviction`,
    );
  }
}

/** The lines of `INFO`; `null` where it is forbidden. */
async function readInfo(link: Link): Promise<ReadonlyMap<string, string> | null> {
  let text: string;
  try {
    text = String(await link.command("INFO"));
  } catch (error) {
    if (error instanceof JournalError && error.fault === "failed") return null;
    throw error;
  }
  return new Map(
    text.split(/\r?\n/).flatMap((line) => {
      const colon = line.indexOf(":");
      return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    }),
  );
}

/** The value of one option, as RESP2 (a list) or RESP3 (a map) tells it. */
function valueOf(reply: unknown): number {
  if (Array.isArray(reply)) return Number(reply[1]);
  return typeof reply === "object" && reply !== null ? Number(Object.values(reply)[0]) : NaN;
}
