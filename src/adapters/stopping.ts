/**
 * The order in which a server stops: out of the balancer's sight, then off the port, then a goodbye
 * to each client, then the end, all within a bound.
 *
 * @module
 */
import { systemClock } from "../hub/clock.ts";
import type { DrainPlan } from "../hub/leaving.ts";
import { pause } from "../hub/spread.ts";
import type { DrainOptions } from "../hub/types.ts";

/** What a server tells goodbye before it closes: a hub, or whatever else ends its own streams. */
export interface Stoppable {
  /**
   * Ends its streams in good order.
   *
   * @param options `signal` ends the waiting early.
   */
  shutdown(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Ends its streams without a hurry. What has none is shut down when the lame duck is over.
   *
   * @param options How long each part may take; `signal` ends the waiting early.
   */
  drain?(options?: DrainOptions): Promise<void>;
}

/** How a runtime's server is closed. */
export interface Closing {
  /**
   * Takes no new connection; the open responses go on, and each takes its connection with it. The
   * port is closed before the first goodbye: a native `EventSource` tries a closed port again, and
   * gives up for ever on a 503.
   *
   * @param exits Whether the process exits right after, which cuts whatever this cannot.
   * @returns Settles when the port is closed, or as soon as that can be told.
   */
  unlisten(exits: boolean): void | Promise<void>;
  /** Settles when the open responses have ended. Called once, after `unlisten`. */
  ended(): Promise<unknown>;
  /** Cuts what is still open. */
  now(): void;
}

/** What is stopped, and in what time. */
export interface StopperOptions {
  /** Who says goodbye. */
  readonly hubs: readonly Stoppable[];
  /** How long the goodbyes and the end may take, in milliseconds. */
  readonly shutdownMs: number;
  /** Called when the port is closed and the streams have ended. */
  onStopped?(): void | Promise<void>;
  /** Called last of all, however it went. */
  onSettled(): void;
}

/** Without a hurry, and whether the process exits afterwards. */
export interface StopPlan extends DrainPlan {
  /** Whether the process exits when it is done. */
  readonly exits: boolean;
}

const CUT_MS = 100;
/** What the application's own end gets, when the streams have used up all the time there was. */
const HOOK_MS = 1000;
const MAX_TIMER_MS = 2_147_483_647;

/** Stops a server, once. */
export class Stopper {
  readonly #closing: Closing;
  readonly #options: StopperOptions;
  /** Ends the lame duck and the spread. */
  readonly #hurry = new AbortController();
  /** Gives up on what has not ended. */
  readonly #deadline = new AbortController();
  readonly #expired: Promise<undefined>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #expiresAt = Infinity;
  #stopping: Promise<void> | undefined;

  constructor(closing: Closing, options: StopperOptions) {
    this.#closing = closing;
    this.#options = options;
    const { signal } = this.#deadline;
    this.#expired = new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve(undefined), { once: true });
    });
  }

  /** Stops at once, also one that is stopping without a hurry. */
  shutdown(): Promise<void> {
    if (this.#stopping !== undefined) {
      this.#hurry.abort();
      this.#expireAfter(this.#options.shutdownMs);
    }
    return this.#stopping ??= this.#run(null);
  }

  /** Stops without a hurry; one that is stopping goes on as it does. */
  drain(plan: StopPlan): Promise<void> {
    return this.#stopping ??= this.#run(plan);
  }

  async #run(plan: StopPlan | null): Promise<void> {
    const { lameDuckMs = 0, spreadMs = 0, signal, exits = false } = plan ?? {};
    const hurry = (): void => this.#hurry.abort();
    if (signal?.aborted) hurry();
    signal?.addEventListener("abort", hurry, { once: true });
    this.#expireAfter(lameDuckMs + spreadMs + this.#options.shutdownMs);
    try {
      // Begun before the hubs begin theirs, so that the port is closed when they send the first away.
      const lame = pause(systemClock, lameDuckMs, this.#hurry.signal);
      const early = lameDuckMs > 0 ? this.#tell(plan, lame) : undefined;
      await lame;
      await this.#inTime(Promise.resolve(this.#closing.unlisten(exits)));
      const outcomes = await this.#inTime(early ?? this.#tell(plan, lame));
      const ended = this.#closing.ended();
      await this.#inTime(ended);
      // A hub that was given up on may say so with the signal's reason: that is no failure of its own.
      const late = this.#deadline.signal.aborted;
      if (late) await this.#cut(ended);
      await this.#finish(late ? [] : outcomes ?? []);
    } finally {
      clearTimeout(this.#timer);
      signal?.removeEventListener("abort", hurry);
      this.#options.onSettled();
    }
  }

  /** One hub's failure must neither keep another's clients waiting nor leave the port open. */
  #tell(plan: StopPlan | null, lame: Promise<void>): Promise<PromiseSettledResult<void>[]> {
    return Promise.allSettled(this.#options.hubs.map(async (one) => {
      if (plan !== null && one.drain !== undefined) {
        const { lameDuckMs, spreadMs } = plan;
        return await one.drain({ lameDuckMs, spreadMs, signal: this.#hurry.signal });
      }
      await lame;
      await one.shutdown({ signal: this.#deadline.signal });
    }));
  }

  /** The hook is called whatever failed before it, and the first failure is what is told. */
  async #finish(outcomes: readonly PromiseSettledResult<void>[]): Promise<void> {
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    try {
      await this.#hook();
    } catch (error) {
      if (failed === undefined) throw error;
    }
    if (failed !== undefined) throw failed.reason;
  }

  async #hook(): Promise<void> {
    const { onStopped } = this.#options;
    if (onStopped === undefined) return;
    const leftMs = Math.max(HOOK_MS, this.#expiresAt - performance.now());
    const ms = Math.min(leftMs, MAX_TIMER_MS);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = new Error(`Waited ${Math.round(ms)} ms in vain for onStopped`);
      timer = setTimeout(() => reject(error), ms);
    });
    try {
      await Promise.race([onStopped(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** What the cut leads to happens soon; whether a runtime can tell is not worth waiting for. */
  async #cut(ended: Promise<unknown>): Promise<void> {
    this.#closing.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([ended, new Promise<void>((go) => timer = setTimeout(go, CUT_MS))]);
    clearTimeout(timer);
  }

  #inTime<T>(work: Promise<T>): Promise<T | undefined> {
    return Promise.race([work, this.#expired]);
  }

  /** Never later than was said before. */
  #expireAfter(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.#expiresAt || this.#deadline.signal.aborted) return;
    this.#expiresAt = at;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#deadline.abort(new Error("The shutdown took too long")),
      Math.min(ms, MAX_TIMER_MS),
    );
  }
}
