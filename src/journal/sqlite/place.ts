/**
 * Where a database's file stands, and whether it still stands there.
 *
 * Somebody who puts an older copy into the place of the file leaves us writing to a file that has no
 * name any more: everything would go well until the next start, and be gone. SQLite itself can tell:
 * the file that is locked by us is busy when it is opened a second time; another one is not.
 *
 * It takes an address that forbids writing (sqlite.org/uri.html), for SQLite would take the log of our
 * file for the other one's and write it back there. Not every driver lets it have one: `node:sqlite`
 * does, `bun:sqlite` and `better-sqlite3` do not.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import { sqliteCode } from "./faults.ts";
import type { SqlStore } from "./store.ts";

/** The name under which the file is opened, for an instant. */
const NAME = "tidemark_place";

/** The place of a file that we hold. */
export class Place {
  readonly #store: SqlStore;
  readonly #address: string;

  private constructor(store: SqlStore, address: string) {
    this.#store = store;
    this.#address = address;
  }

  /**
   * Finds the file of a database.
   *
   * @param store The database, which is locked.
   * @returns Its place; `undefined` when it has none, or when the driver does not let us look.
   */
  static of(store: SqlStore): Place | undefined {
    const file = store.all("PRAGMA database_list").find((row) => row["name"] === "main")?.["file"];
    if (typeof file !== "string" || !file.startsWith("/")) return undefined;
    const address = `file:${file.split("/").map(encodeURIComponent).join("/")}?mode=ro`;
    const place = new Place(store, address);
    return place.#look() === "ours" ? place : undefined;
  }

  /**
   * Looks whether the file still stands there. Not within a transaction.
   *
   * @throws {JournalError} When it does not: what is appended would be lost.
   */
  check(): void {
    const seen = this.#look();
    if (seen === "ours") return;
    const what = seen === "gone" ? "is no longer in its place" : "was replaced by another one";
    throw new JournalError("unavailable", `its file ${what}; close it, and open that file anew`);
  }

  #look(): "ours" | "other" | "gone" {
    try {
      this.#store.run(`ATTACH ? AS ${NAME}`, this.#address);
    } catch (error) {
      switch (sqliteCode(error)) {
        case "CANTOPEN":
          return "gone";
        // It may be read, and not be locked as a log that must be read back would need.
        case "IOERR":
        case "NOTADB":
          return "other";
        default:
          return "ours";
      }
    }
    this.#store.run(`DETACH ${NAME}`);
    return "other";
  }
}
