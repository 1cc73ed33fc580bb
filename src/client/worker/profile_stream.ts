/**
 * A profile's one stream, as its host sees it: where it stands, from its first word on.
 *
 * @module
 */
import type { LifecycleRecord } from "../records.ts";
import type { Stream, StreamOptions, StreamState } from "../types.ts";
import { followDoubt } from "./doubt.ts";

/** Makes a stream: a host is tested with a scripted one. */
export type MakeStream = (options: StreamOptions) => Stream;

/** The stream. */
export class ProfileStream {
  readonly #stream: Stream;
  /** What the stream starts from, as long as it knows of no cursor itself. */
  #from: string;
  /** Whether it was told to start, and has not begun: it reads its cursor first. */
  #starting = false;
  /** The epoch of the last hello. */
  epoch = "";
  /** Which attempt brought it. */
  generation = 0;
  /** Whether there is something that a revalidation has yet to cover. */
  doubt = false;

  /**
   * @param makeStream Makes the stream.
   * @param options Its options.
   * @param from The cursor that it starts from: of a tab that had another host before.
   */
  constructor(makeStream: MakeStream, options: StreamOptions, from: string) {
    this.#from = from;
    // Over the host's own object: it may be of a class.
    this.#stream = makeStream(Object.assign(Object.create(options) as StreamOptions, {
      persist: {
        load: () =>
          this.#from === "" ? null : { cursor: this.#from, unverified: false, stateKept: true },
        save: () => {},
      },
      onLifecycle: (record: LifecycleRecord) => {
        this.#follow(record);
        options.onLifecycle?.(record);
      },
    }));
  }

  /** Where it stands. */
  get state(): StreamState {
    return this.#starting ? "connecting" : this.#stream.state();
  }

  /** What its frames so far have reached. */
  get cursor(): string {
    return this.#stream.cursor() || this.#from;
  }

  /** Connects, when it is stopped. */
  start(): void {
    if (this.state !== "stopped") return;
    this.#starting = true;
    this.#stream.start();
  }

  /** Ends the connection. */
  stop(): void {
    this.#starting = false;
    this.#stream.stop();
  }

  /** Forgets the cursor. */
  forget(): void {
    this.#from = "";
    this.#stream.resetCursor();
  }

  /**
   * Connects anew, and starts it when it is stopped.
   *
   * @param how Whether the cursor is forgotten, or an open stream left alone.
   */
  reconnect(how: "reconnect" | "reset" | "credentials"): void {
    if (how === "reset") this.forget();
    if (this.state === "stopped") this.start();
    else if (how === "reconnect") this.#stream.reconnect();
    else if (how === "credentials") this.#stream.credentialsChanged();
  }

  #follow(record: LifecycleRecord): void {
    this.doubt = followDoubt(this.doubt, record);
    if (record.kind === "state") this.#starting = false;
    if (record.kind !== "hello") return;
    this.#from = "";
    this.epoch = record.epoch;
    this.generation = record.generation;
  }
}
