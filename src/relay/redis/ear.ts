/**
 * One connection in subscriber mode, and who listens on it.
 *
 * @module
 */
import { RelayError } from "../../errors/relay.ts";
import { errorForLog } from "../../wire/text.ts";
import { Confirmer, refused } from "../confirmer.ts";
import type { RelayListener } from "../relay.ts";
import type { RedisSubscriber } from "./client.ts";

/** The words of Redis with which no other attempt helps. */
const REFUSALS = /\b(?:NOPERM|NOAUTH|WRONGPASS)\b/;

/** What an ear is made of. */
export interface EarOptions {
  /** The connection. */
  readonly subscriber: RedisSubscriber;
  /** Whether it was made for this ear, and ends with it. */
  readonly own: boolean;
  /** The channel. */
  readonly channel: string;
  /**
   * The status of the client that publishes: its connection comes back at a time of its own, and a pod
   * is whole again when it is heard, too.
   */
  readonly speaker: () => string | undefined;
  /**
   * How often the connection is looked after, in milliseconds. One whose peer has vanished stays open
   * and silent; so Redis is asked for its confirmation again, and must have answered by the next time.
   */
  readonly beatMs: number;
}

/** One listener. */
export interface Line {
  /** Who. */
  readonly listener: RelayListener;
  /** What sees to its confirmation. */
  readonly confirmer: Confirmer;
}

/** A connection in subscriber mode. */
export class Ear {
  readonly #options: EarOptions;
  readonly #lines = new Set<Line>();
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #beat: ReturnType<typeof setInterval>;
  #unanswered = false;

  /** @param options What it is made of. */
  constructor(options: EarOptions) {
    this.#options = options;
    const { subscriber } = options;
    subscriber.on("messageBuffer", this.#onMessage);
    subscriber.on("ready", this.wake);
    subscriber.on("close", this.#onClose);
    // Of a connection of its own nobody else hears, and what nobody hears is thrown or printed.
    if (options.own) subscriber.on("error", ignore);
    this.#beat = setInterval(() => this.#lookAfter(), options.beatMs);
  }

  /** Whether nobody listens. */
  get idle(): boolean {
    return this.#lines.size === 0;
  }

  /**
   * Adds a listener.
   *
   * @param listener Who.
   * @returns Its line; its confirmation has not begun.
   */
  add(listener: RelayListener): Line {
    const confirmer = new Confirmer({
      confirm: () => this.#confirm(),
      resumed: () => listener.resumed(),
    });
    const line: Line = { listener, confirmer };
    this.#lines.add(line);
    return line;
  }

  /**
   * Takes a listener off.
   *
   * @param line Its line.
   * @param reason Why, for who waits for the first confirmation.
   */
  remove(line: Line, reason: RelayError): void {
    this.#lines.delete(line);
    line.confirmer.end(reason);
  }

  /**
   * Ends it; a connection that was handed in goes on.
   *
   * @param reason Why, for who waits for the first confirmation.
   */
  end(reason: RelayError): void {
    for (const line of [...this.#lines]) this.remove(line, reason);
    clearInterval(this.#beat);
    const { subscriber, own, channel } = this.#options;
    subscriber.off("messageBuffer", this.#onMessage);
    subscriber.off("ready", this.wake);
    subscriber.off("close", this.#onClose);
    // A client may still say a last word of its end.
    if (own) subscriber.disconnect?.();
    else if (isAwake(subscriber.status)) subscriber.unsubscribe(channel).catch(ignore);
  }

  readonly #onMessage = (channel: Uint8Array, message: Uint8Array): void => {
    if (this.#decoder.decode(channel) !== this.#options.channel) return;
    for (const line of this.#lines) {
      // A copy for each; the client's lies among others, and its `slice` would copy nothing.
      const bytes = new Uint8Array(message);
      // What a listener throws is neither the client's nor another listener's.
      queueMicrotask(() => {
        if (this.#lines.has(line)) line.listener.message(bytes);
      });
    }
  };

  /** A connection is ready: no need to wait before the next attempt. */
  readonly wake = (): void => {
    for (const { confirmer } of this.#lines) confirmer.wake();
  };

  readonly #onClose = (): void => {
    this.#unanswered = false;
    for (const { confirmer } of this.#lines) confirmer.interrupt();
  };

  /** Redis answers the commands of a connection in their order: what it answers, it has done. */
  async #confirm(): Promise<void> {
    const { subscriber, channel, speaker } = this.#options;
    const statuses = [subscriber.status, speaker()];
    if (statuses.includes("end")) {
      throw new RelayError("closed", "its connection to Redis has ended");
    }
    if (!statuses.every(isAwake)) {
      throw new RelayError("unavailable", "the connections to Redis are not ready");
    }
    try {
      await subscriber.subscribe(channel);
    } catch (error) {
      if (REFUSALS.test(errorForLog(error))) throw refused(error);
      throw error;
    }
  }

  #lookAfter(): void {
    const { subscriber, own, channel } = this.#options;
    if (this.idle || !isAwake(subscriber.status)) return;
    if (this.#unanswered) {
      // The peer is gone, or stands still: whichever, nothing arrives.
      this.#onClose();
      if (own) subscriber.disconnect?.(true);
      return;
    }
    this.#unanswered = true;
    subscriber.subscribe(channel).then(() => this.#unanswered = false, (): void => {
      this.#unanswered = false;
      // Not a broken connection, which is told: Redis no longer lets this pod listen.
      for (const { confirmer } of this.#lines) confirmer.interrupt();
    });
  }
}

function ignore(): void {}

/**
 * Whether commands are answered.
 *
 * @param status What the client says; before its first command some wait for it to connect.
 */
export function isAwake(status: string | undefined): boolean {
  return status === undefined || status === "ready" || status === "wait";
}
