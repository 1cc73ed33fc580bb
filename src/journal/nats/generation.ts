/**
 * The generation of a journal: a random number in a key-value bucket, which a rotation replaces. The
 * stream itself can keep no such mark: its first message is trimmed away, and servers below 2.10 give
 * a stream no metadata.
 *
 * It is the key `generation` of the bucket `NAME_epoch`, with the value `1 HEX FLOOR CREATED`: 1 is
 * the version of the whole store, HEX the random number, and below FLOOR the stream that was made at
 * CREATED holds only what belongs to an older epoch.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import { toHex } from "../../wire/hex.ts";
import { isRefusal, type JetStreamApi, JS_ERROR } from "./api.ts";
import type { StreamConfig } from "./config.ts";
import type { NatsClient } from "./connection.ts";
import { elapse } from "./elapse.ts";
import { OwnStream } from "./own_stream.ts";

/** The version of the store. */
const VERSION = "1";

/**
 * How long an empty bucket is looked at before a key is made in it, in milliseconds: another opener may
 * be about to, and a server of a cluster that has just become its leader may not yet show what it holds.
 */
const EMPTY_MS = 3000;

/** For how long making the first key is tried, and how long to wait between two tries. */
const MAKING_MS = 6000;
const TRY_MS = 100;

/** A generation, and what a change of it is compared with. */
export interface Generation {
  /** 32 random hex characters; `""` when the key was deleted. */
  readonly value: string;
  /** The first offset that belongs to it. */
  readonly floor: number;
  /** The stream, by the time when it was made, of whose offsets that is true. */
  readonly created: string;
  /** The revision of the key. */
  readonly revision: number;
}

/** What JetStream answers when it is asked for a message. */
interface StoredMessage {
  readonly message: { readonly seq: number; readonly data?: string };
}

/** Whose generation. */
export interface GenerationOptions {
  /** The journal's name. */
  readonly name: string;
  /** How many servers keep it. */
  readonly replicas: number;
}

/** Reads and changes the generation. */
export class GenerationKey {
  /** The subject of the key: each change of it passes there. */
  readonly subject: string;
  readonly #headers: NatsClient["headers"];
  readonly #api: JetStreamApi;
  readonly #bucket: OwnStream;
  readonly #verb: string;
  #read: { readonly from: string; readonly generation: Generation | null } = {
    from: "",
    generation: null,
  };

  /**
   * @param api Whom to ask.
   * @param headers Makes headers.
   * @param options Whose.
   */
  constructor(api: JetStreamApi, headers: NatsClient["headers"], options: GenerationOptions) {
    this.#api = api;
    this.#headers = headers;
    const bucket = `${options.name}_epoch`;
    this.#bucket = new OwnStream(api, newBucket(bucket, options.replicas));
    this.#verb = `STREAM.MSG.GET.KV_${bucket}`;
    this.subject = `$KV.${bucket}.generation`;
  }

  /**
   * Reads it, and makes it where there is none.
   *
   * @returns The generation.
   * @throws {JournalError} `format` when an unknown version wrote it; or the store cannot be asked.
   */
  async read(): Promise<Generation> {
    const began = performance.now();
    let ours = false;
    for (;;) {
      const { stored, isNew } = await this.#stored();
      ours ||= isNew;
      if (stored !== null && stored.value !== "") return stored;
      const spent = performance.now() - began;
      // One that was deleted is known to be gone.
      if (!ours && stored === null && spent < EMPTY_MS) {
        await elapse(TRY_MS);
        continue;
      }
      try {
        await this.change(stored?.revision ?? 0, 1, "");
      } catch (error) {
        // A bucket that has no leader yet takes nothing.
        const away = error instanceof JournalError && error.fault === "unavailable";
        if (!away || spent > MAKING_MS) throw error;
        await elapse(TRY_MS);
      }
    }
  }

  /**
   * Gives a new one, unless somebody else has.
   *
   * @param revision The revision that is to be replaced; 0 for none.
   * @param floor The first offset that will belong to it.
   * @param created The stream of which that is true.
   * @returns Whether this call has changed it.
   * @throws {JournalError} When the store cannot be asked.
   */
  async change(revision: number, floor: number, created: string): Promise<boolean> {
    const expected = this.#headers();
    expected.set("Nats-Expected-Last-Subject-Sequence", String(revision));
    const payload = new TextEncoder().encode(`${VERSION} ${newGeneration()} ${floor} ${created}`);
    try {
      await this.#api.send(this.subject, payload, { headers: expected });
      return true;
    } catch (error) {
      if (isRefusal(error, JS_ERROR.wrongLastSequence)) return false;
      throw error;
    }
  }

  /** One that was read is read again only when the bucket's state has changed. */
  async #stored(): Promise<{ readonly stored: Generation | null; readonly isNew: boolean }> {
    const { created, state, isNew } = await this.#bucket.info();
    if (state.messages === 0) return { stored: null, isNew };
    const from = `${created} ${state.last_seq} ${state.last_ts}`;
    if (this.#read.from === from) return { stored: this.#read.generation, isNew };
    const query = { last_by_subj: this.subject };
    try {
      const { message } = await this.#api.ask<StoredMessage>(this.#verb, query);
      const stored = { ...readValue(message.data ?? ""), revision: message.seq };
      // Else it was changed meanwhile.
      if (message.seq === state.last_seq) this.#read = { from, generation: stored };
      return { stored, isNew };
    } catch (error) {
      if (isRefusal(error, JS_ERROR.messageNotFound)) return { stored: null, isNew };
      throw error;
    }
  }
}

/** A bucket as `nats kv add` makes it. */
function newBucket(bucket: string, replicas: number): StreamConfig {
  return {
    name: `KV_${bucket}`,
    subjects: [`$KV.${bucket}.>`],
    storage: "file",
    num_replicas: replicas,
    max_msgs_per_subject: 1,
    discard: "new",
    deny_delete: true,
    allow_rollup_hdrs: true,
    allow_direct: true,
  };
}

function readValue(base64: string): Omit<Generation, "revision"> {
  if (base64 === "") return { value: "", floor: 1, created: "" };
  const [version, value = "", floor = "", created, more] = atob(base64).split(" ");
  const known = version === VERSION && /^[0-9a-f]{32}$/.test(value) && /^\d+$/.test(floor);
  if (!known || created === undefined || more !== undefined) {
    throw new JournalError("format", "its generation was written by an unknown version");
  }
  return { value, floor: Number(floor), created };
}

function newGeneration(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}
