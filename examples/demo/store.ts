/**
 * Where the demo keeps its events: by default in SQLite, in a temporary file.
 *
 * @module
 */
import { createMemoryStore, type Journal } from "@tidemark/sse/journal/memory";
import { openSqliteJournal, type SqliteDatabase } from "@tidemark/sse/journal/sqlite";

/** An open file of `node:sqlite`. */
type Database = SqliteDatabase & { close(): void };

/** By a name that the type checker does not follow: the types of Node 20 do not know the module. */
const DRIVER: string = "node:sqlite";
const { DatabaseSync } = await import(DRIVER) as { DatabaseSync: new (path: string) => Database };

/**
 * A minute of samples is some 60 KiB, so this is an hour of them; a flood is ten times as much, so that
 * a page can be away for too long within seconds, and see how that is told.
 */
const RETENTION = { maxBytes: 4 * 1_048_576 };

/** A place for events, opened by one hub after another. */
export interface Store {
  /** What it is, for people. */
  readonly name: string;
  /**
   * Opens it, as a process does that starts.
   *
   * @returns The journal, to be closed by `close`; `null` where nothing is kept.
   * @throws What the store says when it cannot be opened.
   */
  open(): Promise<Journal | null>;
  /** Closes it, once it holds what is on its way. */
  close(): Promise<void>;
  /** Takes away, at once, what shall not outlast the process: the last thing that is called. */
  discard(): void;
}

/**
 * Makes a store.
 *
 * @param kind `sqlite`, `sqlite:PATH`, `memory` or `none`.
 * @returns The store, not open yet.
 * @throws {TypeError} When the kind is another one.
 */
export function makeStore(kind: string): Store {
  if (kind === "none") return new NoStore();
  if (kind === "memory") return new MemoryStore();
  if (kind === "sqlite") return new SqliteStore(null);
  const path = /^sqlite:(.+)$/.exec(kind)?.[1];
  if (path !== undefined) return new SqliteStore(path);
  throw new TypeError(`--journal is ${kind}, it must be sqlite, sqlite:PATH, memory or none`);
}

class NoStore implements Store {
  readonly name = "none";

  open(): Promise<null> {
    return Promise.resolve(null);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  discard(): void {}
}

class MemoryStore implements Store {
  readonly name = "memory";
  readonly #entries = createMemoryStore({ retention: RETENTION });
  #journal: Journal | null = null;

  open(): Promise<Journal> {
    this.#journal = this.#entries.open();
    return Promise.resolve(this.#journal);
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  discard(): void {}
}

class SqliteStore implements Store {
  readonly name: string;
  readonly #path: string | null;
  /** Of our own making: the file, and what SQLite puts beside it. */
  #folder: string | null = null;
  #database: Database | null = null;
  #journal: Journal | null = null;

  /** @param path The file; `null` for a temporary one. */
  constructor(path: string | null) {
    this.#path = path;
    this.name = path === null ? "SQLite, a temporary file" : "SQLite, a file that stays";
  }

  async open(): Promise<Journal> {
    const database = new DatabaseSync(this.#path ?? this.#temporary());
    this.#database = database;
    try {
      this.#journal = await openSqliteJournal(database, {
        retention: RETENTION,
        // A temporary file does not outlast the process, and so no power cut either: nobody could come
        // back to a number that was given twice. One that stays may be found after a power cut.
        synchronous: this.#path === null ? "normal" : "full",
      });
    } catch (error) {
      this.#closeFile();
      throw error;
    }
    return this.#journal;
  }

  async close(): Promise<void> {
    await this.#journal?.close();
    this.#journal = null;
    this.#closeFile();
  }

  discard(): void {
    const folder = this.#folder;
    if (folder === null) return;
    this.#folder = null;
    // Windows removes no file that is open.
    this.#closeFile();
    Deno.removeSync(folder, { recursive: true });
  }

  #temporary(): string {
    this.#folder ??= Deno.makeTempDirSync({ prefix: "tidemark_demo_" });
    return `${this.#folder}/events.db`;
  }

  #closeFile(): void {
    this.#database?.close();
    this.#database = null;
  }
}
