/**
 * Opening the hub of an object: over its SQL storage where there is one, else in its memory.
 *
 * @module
 */
import { openHub } from "../../cluster/open_hub.ts";
import type { JournaledHub } from "../../cluster/types.ts";
import { ConfigError } from "../../errors.ts";
import { createHub } from "../../hub/hub.ts";
import { type HubOptions, readOptions } from "../../hub/options.ts";
import type { Hub } from "../../hub/types.ts";
import {
  type DurableObjectJournalOptions,
  type DurableObjectStorage,
  openDurableObjectJournal,
} from "../../journal/sqlite/durable_object.ts";
import { joinHops } from "./hop/calls.ts";
import { Hops } from "./hop/hops.ts";
import type { HopState } from "./hop/socket.ts";
import { SoleJournal } from "./sole_journal.ts";

/** The options of a hub in a Durable Object. */
export interface HubObjectOptions extends HubOptions {
  /**
   * How the events are kept in the object's SQL storage.
   *
   * By default they are, for 7 days, when the class was made with SQLite (`new_sqlite_classes`);
   * without it the hub lives in memory, and `replay` alone says what it keeps. Name what is to be kept,
   * and a class without SQLite is refused with a {@linkcode ConfigError}. `false` keeps the hub in
   * memory in any case: nothing is written, and nothing outlasts the object.
   */
  readonly journal?: DurableObjectJournalOptions | false | null;
}

/** A hub in a Durable Object: with a journal in its storage, or in memory. `await` what it publishes. */
export type ObjectHub = JournaledHub | Hub;

/** A hub, and what carries its streams to Workers in front. */
export interface OpenedHub {
  /** The hub. */
  readonly hub: ObjectHub;
  /** The hop; `null` for a hub in memory, or where the platform has no sockets that hibernate. */
  readonly hops: Hops | null;
}

/**
 * Opens the hub of an object.
 *
 * @param ctx The object's state, as the platform handed it over.
 * @param options The options of the hub and of its journal.
 * @returns The hub, and its hop.
 * @throws {ConfigError} For options that could not be honoured.
 * @throws {JournalError} When the journal cannot be opened; asked again, it is tried again.
 */
export async function openObjectHub(ctx: unknown, options: HubObjectOptions): Promise<OpenedHub> {
  const { journal: kept, ...hubOptions } = options;
  const storage = kept === false ? undefined : sqlStorage(ctx);
  if (storage === undefined) {
    if (typeof kept === "object" && kept !== null) {
      throw new ConfigError(
        "journal",
        "the object has no SQL storage: its class must be among new_sqlite_classes",
      );
    }
    return { hub: createHub(hubOptions), hops: null };
  }
  const journal = new SoleJournal(await openDurableObjectJournal(storage, kept || {}));
  try {
    const hub = await openHub({ ...hubOptions, journal });
    if (!hibernates(ctx)) return { hub, hops: null };
    const settings = readOptions(hubOptions, { journaled: true });
    const hops = new Hops({ state: ctx, journal, settings }, await journal.window());
    return { hub: joinHops(hub, hops), hops };
  } catch (error) {
    // Else the next attempt would find it taken.
    await journal.close();
    throw error;
  }
}

/** The object's storage, if its class was made with SQLite. */
function sqlStorage(ctx: unknown): DurableObjectStorage | undefined {
  const { storage } = (ctx ?? {}) as { readonly storage?: Partial<DurableObjectStorage> };
  try {
    if (storage?.sql === undefined) return undefined;
    // It is there without SQLite too, and throws at its first use.
    storage.sql.exec("SELECT 1").toArray();
  } catch (error) {
    if (/SQL is not enabled/.test(String(error))) return undefined;
    // Out of order, not absent: a hub in memory would begin a sequence of its own beside it. The
    // journal meets the same, and can say so.
  }
  // What has `sql` has the rest: the platform made it.
  return storage as DurableObjectStorage;
}

/** Whether the object can have sockets that do not keep it awake. */
function hibernates(ctx: unknown): ctx is HopState {
  return typeof (ctx as Partial<HopState> | null)?.acceptWebSocket === "function";
}
