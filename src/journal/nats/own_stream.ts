/**
 * A stream that is made where it is missing: by whoever is first, while others ask for it.
 *
 * Nothing but its state may be asked of a stream before it is known to hold something: a server (seen
 * on 2.9.10) shows a stream while it is still making it, and crashes when a message is asked of it.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import { isRefusal, type JetStreamApi, JS_ERROR } from "./api.ts";
import type { StreamConfig } from "./config.ts";
import { elapse } from "./elapse.ts";

/** What JetStream tells of a stream. */
export interface StreamInfo {
  /** How it is set up. */
  readonly config: StreamConfig;
  /** When it was made. */
  readonly created: string;
  /** What it holds. */
  readonly state: {
    readonly messages: number;
    readonly first_seq: number;
    readonly last_seq: number;
    readonly last_ts: string;
    readonly num_deleted?: number;
    readonly deleted?: readonly number[];
  };
}

/**
 * How long a server may take to delete a stream of which it already says that it is gone, in
 * milliseconds. One that is still removing the old files (2.9.10) removes those of a new stream with
 * them: its messages are counted, and cannot be read.
 */
const DELETION_MS = 500;

/** How long a stream that is being made is waited for, and how long between two looks. */
const MAKING_MS = 5000;
const LOOK_MS = 20;

/** A stream of ours. */
export class OwnStream {
  readonly #api: JetStreamApi;
  readonly #config: StreamConfig;
  #seen = false;

  /**
   * @param api Whom to ask.
   * @param config How it is made.
   */
  constructor(api: JetStreamApi, config: StreamConfig) {
    this.#api = api;
    this.#config = config;
  }

  /**
   * Its state; it is made when it is missing.
   *
   * @returns What the server tells, and whether this call has made it.
   * @throws {JournalError} When the server does not.
   */
  async info(): Promise<StreamInfo & { readonly isNew: boolean }> {
    const found = await this.#made();
    const info = found ?? await this.#create();
    this.#seen = true;
    return { ...info, isNew: found === null };
  }

  /** What is there, and complete. */
  async #made(): Promise<StreamInfo | null> {
    const deadline = performance.now() + MAKING_MS;
    for (;;) {
      const info = await this.#existing();
      // Until it is made it has no time.
      if (info === null || !info.created.startsWith("0001-")) return info;
      if (performance.now() > deadline) {
        throw new JournalError("unavailable", `the stream ${this.#config.name} is not ready`);
      }
      await elapse(LOOK_MS);
    }
  }

  async #existing(): Promise<StreamInfo | null> {
    try {
      return await this.#api.askAgain<StreamInfo>(`STREAM.INFO.${this.#config.name}`);
    } catch (error) {
      if (isRefusal(error, JS_ERROR.streamNotFound)) return null;
      throw error;
    }
  }

  async #create(): Promise<StreamInfo> {
    if (this.#seen) {
      this.#seen = false;
      await elapse(DELETION_MS);
      const found = await this.#made();
      if (found !== null) return found;
    }
    const { name } = this.#config;
    let refused: unknown;
    try {
      await this.#api.ask<StreamInfo>(`STREAM.CREATE.${name}`, this.#config);
    } catch (error) {
      // Another opener was quicker: it has other options, or is not done yet.
      const codes = [JS_ERROR.streamNameInUse, JS_ERROR.subjectsOverlap];
      if (!codes.some((code) => isRefusal(error, code))) throw error;
      refused = error;
    }
    const info = await this.#made();
    if (info !== null) return info;
    throw refused ??
      new JournalError("unavailable", `the stream ${name} was deleted as soon as it was made`);
  }
}
