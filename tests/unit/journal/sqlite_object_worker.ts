/**
 * A Worker whose objects put the journal of a Durable Object through the conformance suite: one case
 * in each object, and a few questions of this adapter's own.
 *
 * @module
 */
import { journalCases } from "../../../src/journal/conformance.ts";
import type {
  JournalCase,
  JournalStore,
  JournalSubject,
} from "../../../src/journal/conformance.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import {
  type DurableObjectStorage,
  openDurableObjectJournal,
} from "../../../src/journal/sqlite.ts";
import { copyTables } from "./sqlite_copy.ts";

/** What is used of an object's storage beside what the journal uses. */
interface Storage extends DurableObjectStorage {
  deleteAll(): Promise<void>;
}

interface Namespace {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

/** An object has one storage: what needs two of them at once is asked of two objects. */
const TWO_STORES = "two stores have two epochs";

const front: { fetch(request: Request, env: { JOURNAL: Namespace }): Promise<Response> } = {
  fetch(request, { JOURNAL }) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/cases") {
      return Promise.resolve(Response.json(casesOf(undefined).map(({ name }) => name)));
    }
    const name = searchParams.get("object") ?? pathname;
    return JOURNAL.get(JOURNAL.idFromName(name)).fetch(request);
  },
};

export default front;

/** The object. */
export class JournalObject {
  readonly #storage: Storage;
  #journal: Promise<Journal> | undefined;

  constructor(ctx: { readonly storage: Storage }) {
    this.#storage = ctx.storage;
  }

  /** Runs a case by its number, appends, or says what is held. */
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/append" || pathname === "/window") {
      const journal = await (this.#journal ??= openDurableObjectJournal(this.#storage));
      if (pathname === "/window") return Response.json(await journal.window());
      const event = { topic: "", name: "", data: await request.text(), at: Date.now() };
      return Response.json(await journal.append(event));
    }
    const number = Number(searchParams.get("case"));
    try {
      await casesOf(this.#storage)[number]?.run();
      return new Response("");
    } catch (error) {
      return new Response(String(error));
    }
  }
}

function casesOf(storage: Storage | undefined): readonly JournalCase[] {
  const subject: JournalSubject = {
    openers: "one",
    hooks: ["copy", "empty", "purge", "foreignFormat"],
    makeStore() {
      if (storage === undefined) throw new Error("Cannot make a store outside of an object");
      return makeStore(storage);
    },
  };
  return journalCases(subject).filter(({ name }) => name !== TWO_STORES);
}

async function makeStore(storage: Storage): Promise<JournalStore> {
  const all = (sql: string, ...values: (string | number)[]): unknown[] =>
    storage.sql.exec(sql, ...values).toArray();
  await storage.deleteAll();
  return {
    open: ({ retention }) => openDurableObjectJournal(storage, { retention }),
    copy() {
      const restore = copyTables(all);
      return Promise.resolve({
        restore: () => Promise.resolve(storage.transactionSync(restore)),
      });
    },
    empty: () => storage.deleteAll(),
    purge: () => Promise.resolve(void all("DELETE FROM tidemark_entries")),
    foreignFormat: () => Promise.resolve(void all("UPDATE tidemark_journal SET format = 2")),
    dispose: () => Promise.resolve(),
  };
}
