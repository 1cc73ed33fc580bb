/**
 * Our own client of a hub over a journal: what it was given, and what every hello told it.
 *
 * @module
 */
import { createStream } from "../../src/client/stream.ts";
import type { ClientClock, Fetch, Stream } from "../../src/client/types.ts";
import { readCursor } from "../../src/wire/cursor.ts";

/** How much faster than ours its time goes: the waits that a server asks for get as much shorter. */
const HURRY = 10;

/** An event that it was given. */
export interface Heard {
  readonly epoch: string;
  readonly offset: number;
  readonly data: string;
}

/** A hello that it was given. */
export interface Greeted {
  readonly verdict: string;
  readonly epoch: string;
  readonly generation: number;
}

/** How it listens. */
export interface ListenerOptions {
  /** What it presents first; nothing. */
  readonly cursor?: string;
  /** What carries its requests; the platform's. */
  readonly fetch?: Fetch;
}

/** A clock whose seconds are short. */
const hurried: ClientClock = {
  now: () => performance.now() * HURRY,
  random: () => Math.random(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms / HURRY);
    return () => clearTimeout(timer);
  },
};

/** A client. */
export class Listener {
  /** The events that carried an offset, in the order in which they came. */
  readonly heard: Heard[] = [];
  /** The hellos. */
  readonly hellos: Greeted[] = [];
  /** How many events it was sent that it had already. */
  repeated = 0;
  /** How often it was told of a hole. */
  lags = 0;
  /** How many attempts ended before a hello. */
  failures = 0;
  readonly #stream: Stream;

  /**
   * Starts one.
   *
   * @param url Where, with its topics.
   * @param options How.
   */
  constructor(url: string, { cursor = "", fetch }: ListenerOptions = {}) {
    this.#stream = createStream({
      url,
      ...(fetch === undefined ? {} : { fetch }),
      clock: hurried,
      // In its own time: what bounds a try in ours is as long as it is by default.
      timing: {
        baseMs: 300,
        capMs: 2000,
        stableMs: 1000,
        connectTimeoutMs: 15_000 * HURRY,
        helloTimeoutMs: 10_000 * HURRY,
        watchdogFloorMs: 15_000 * HURRY,
      },
      ...(cursor === "" ? {} : {
        persist: {
          load: () => ({ cursor, unverified: false, stateKept: true }),
          save: () => {},
        },
      }),
      onFrame: ({ id, data }) => {
        const place = id === null ? null : readCursor(id);
        if (place !== null) this.heard.push({ ...place, data });
      },
      onLifecycle: (record) => {
        if (record.kind === "hello") {
          const { verdict, epoch, generation } = record;
          this.hellos.push({ verdict, epoch, generation });
        } else if (record.kind === "duplicate_frame") this.repeated++;
        else if (record.kind === "lag") this.lags++;
        else if (record.kind === "connect_failed") this.failures++;
      },
    });
    this.#stream.start();
  }

  /** Whether a hello came, and the stream has not ended since. */
  get open(): boolean {
    return this.#stream.state() === "open";
  }

  /** Up to where it has been told everything; -1 while it knows no offset. */
  get reached(): number {
    return readCursor(this.#stream.cursor())?.offset ?? -1;
  }

  /** The verdicts of the hellos, in order. */
  get verdicts(): string[] {
    return this.hellos.map(({ verdict }) => verdict);
  }

  /** The data of what it was given, in order. */
  get data(): string[] {
    return this.heard.map(({ data }) => data);
  }

  /** Drops its connection, and makes another one at once. */
  reconnect(): void {
    this.#stream.reconnect();
  }

  /** Ends it. */
  stop(): void {
    this.#stream.stop();
  }
}
