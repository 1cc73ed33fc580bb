/**
 * The stream of a journal: made when it is missing, refused when it is unsafe, and what it holds.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import type { Retention } from "../retention.ts";
import { isRefusal, type JetStreamApi, JS_ERROR } from "./api.ts";
import { hasLimits, hazard, newStream, toLimits } from "./config.ts";
import { OwnStream, type StreamInfo } from "./own_stream.ts";

/** What a stream holds. */
export interface StreamState {
  /** When it was made; another stream of the same name has another time. */
  readonly created: string;
  /** The oldest entry after which nothing is missing; `head + 1` for none. */
  readonly floor: number;
  /** The newest number that was given. */
  readonly head: number;
  /** When the newest was stored. */
  readonly lastTime: string;
  /** How many servers keep it. */
  readonly replicas: number;
  /** The largest message that it takes, in bytes; `Infinity` for no bound of its own. */
  readonly maxMessageBytes: number;
}

/** How the stream is made. */
export interface StreamOptions {
  /** The journal's name. */
  readonly name: string;
  /** What is to be kept by a stream that is made here. */
  readonly retention: Retention;
  /** How many servers keep it. */
  readonly replicas: number;
}

/** The stream of a journal. */
export class JournalStream {
  readonly #api: JetStreamApi;
  readonly #options: StreamOptions;
  readonly #own: OwnStream;
  /** Where the last hole of one state ends: the list of holes can be long, and rarely changes. */
  #hole: { readonly key: string; readonly end: number } = { key: "", end: 0 };

  /**
   * @param api Whom to ask.
   * @param options How it is made.
   */
  constructor(api: JetStreamApi, options: StreamOptions) {
    this.#api = api;
    this.#options = options;
    const { name, retention, replicas } = options;
    this.#own = new OwnStream(api, newStream(name, retention, replicas));
  }

  /**
   * Gives an existing stream the bounds of the options.
   *
   * @returns Whether that has changed it.
   */
  async limit(): Promise<boolean> {
    const { name, retention } = this.#options;
    const { config } = await this.#own.info();
    const limits = toLimits(retention);
    if (hasLimits(config, limits)) return false;
    await this.#api.ask(`STREAM.UPDATE.${name}`, { ...config, ...limits });
    return true;
  }

  /**
   * What it holds now. A stream that is missing is made: it was emptied, and begins anew.
   *
   * @returns Its state.
   * @throws {JournalError} `unsafe` when it is set up so that it cannot be a journal.
   */
  async state(): Promise<StreamState> {
    const { config, created, state } = await this.#own.info();
    const reason = hazard(config);
    if (reason !== null) throw new JournalError("unsafe", `the stream ${config.name}: ${reason}`);
    const head = state.last_seq;
    const first = state.messages === 0 ? head + 1 : state.first_seq;
    const { max_msg_size = -1, num_replicas = 1 } = config;
    return {
      created,
      floor: Math.max(first, await this.#afterHoles(created, state)),
      head,
      lastTime: state.last_ts,
      replicas: num_replicas,
      maxMessageBytes: max_msg_size > 0 ? max_msg_size : Infinity,
    };
  }

  /**
   * When a message was stored. Only for a stream that holds something.
   *
   * @param offset Its place.
   * @returns The time; `null` when the message is not there.
   */
  async timeOf(offset: number): Promise<string | null> {
    return (await this.#message({ seq: offset }))?.time ?? null;
  }

  /**
   * The newest message of one subject. It is asked of the server that leads the stream: a consumer
   * can stand on one that is behind. Only for a stream that holds something.
   *
   * @param subject The subject.
   * @returns Its place; 0 when there is none.
   */
  async lastOf(subject: string): Promise<number> {
    return (await this.#message({ last_by_subj: subject }))?.seq ?? 0;
  }

  async #message(
    query: object,
  ): Promise<{ readonly seq: number; readonly time: string } | null> {
    const verb = `STREAM.MSG.GET.${this.#options.name}`;
    try {
      const { message } = await this.#api.ask<
        { readonly message: { readonly seq: number; readonly time: string } }
      >(verb, query);
      return message;
    } catch (error) {
      if (isRefusal(error, JS_ERROR.messageNotFound)) return null;
      throw error;
    }
  }

  /**
   * Where the stream is whole from. An operator can delete single messages, or all of one subject:
   * what is below the last of these holes is no longer offered.
   */
  async #afterHoles(created: string, state: StreamInfo["state"]): Promise<number> {
    const { first_seq: first, num_deleted: count = 0 } = state;
    if (count === 0) return 1;
    // Holes are only added; those at the beginning vanish when `first` passes them.
    const key = `${created} ${first} ${count}`;
    if (this.#hole.key !== key) {
      const verb = `STREAM.INFO.${this.#options.name}`;
      const info = await this.#api.ask<StreamInfo>(verb, { deleted_details: true });
      const last = (info.state.deleted ?? []).reduce((a, b) => Math.max(a, b), 0);
      this.#hole = { key, end: last + 1 };
    }
    return this.#hole.end;
  }
}
