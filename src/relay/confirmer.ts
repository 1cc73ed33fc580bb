/**
 * How a subscription comes to be confirmed by its broker, and is again after each interruption.
 *
 * @module
 */
import { RelayError } from "../errors/relay.ts";

/** How long the broker may take to confirm before it is asked again, in milliseconds. */
const CONFIRM_MS = 5000;

/** How long to wait before the next attempt, unless it is woken sooner, in milliseconds. */
const RETRY_MS = 1000;

/** What a confirmer works for. */
export interface ConfirmerOptions {
  /**
   * Subscribes, as far as that is needed, and asks the broker; called again and again.
   *
   * @returns Settles when the broker has confirmed. It rejects when it cannot be asked now, and may
   * stay pending when the connection breaks.
   */
  readonly confirm: () => Promise<void>;
  /** Called when the subscription is confirmed again after an interruption: once for each. */
  readonly resumed: () => void;
}

/** Sees to it that one subscription is confirmed, until it is ended. */
export class Confirmer {
  readonly #options: ConfirmerOptions;
  /** Settles when the subscription is confirmed for the first time, or will never be. */
  readonly #first: Promise<void>;
  #settle: { readonly resolve: () => void; readonly reject: (reason: unknown) => void } | null =
    null;
  #state: "asking" | "confirmed" | "ended" = "asking";
  #abandon: () => void = () => {};
  #wake: () => void = () => {};
  #woken = false;
  #running = false;

  /** @param options What it works for. */
  constructor(options: ConfirmerOptions) {
    this.#options = options;
    this.#first = new Promise((resolve, reject) => this.#settle = { resolve, reject });
    // Somebody may have given up waiting.
    this.#first.catch(() => {});
  }

  /**
   * Begins.
   *
   * @param signal Gives it up, as long as nothing has been confirmed.
   * @returns Settles when the subscription is confirmed for the first time.
   * @throws What it was refused or ended with; the signal's reason.
   */
  async begin(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const giveUp = (): void => this.end(signal?.reason);
    signal?.addEventListener("abort", giveUp, { once: true });
    void this.#ask();
    try {
      await this.#first;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** The connection broke, or the subscription may not be what it was: it must be confirmed again. */
  interrupt(): void {
    if (this.#state === "asking") {
      this.#abandon();
    } else if (this.#state === "confirmed") {
      this.#state = "asking";
      void this.#ask();
    }
  }

  /** The broker is back: no need to wait before the next attempt. */
  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /**
   * The broker refuses the subscription. Who waits for the first confirmation is told; later on it is an
   * interruption like any other, for a permission may be given back.
   *
   * @param cause What it said.
   */
  refuse(cause: unknown): void {
    if (this.#settle !== null) this.end(refused(cause));
    else this.interrupt();
  }

  /**
   * Asks no more.
   *
   * @param reason What the first confirmation rejects with, where it is still waited for.
   */
  end(reason: unknown): void {
    this.#state = "ended";
    this.#settle?.reject(reason);
    this.#settle = null;
    this.#abandon();
    this.#wake();
  }

  /** One at a time, until the state is another one. */
  async #ask(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#state === "asking") {
      this.#woken = false;
      await this.#attempt();
      if (this.#state === "asking") await this.#pause();
    }
    this.#running = false;
  }

  /** Settles when the broker has confirmed or will not, when it was abandoned, or took too long. */
  #attempt(): Promise<void> {
    return new Promise((resolve) => {
      let over = false;
      const settle = (): void => {
        over = true;
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(settle, CONFIRM_MS);
      this.#abandon = settle;
      this.#options.confirm().then(() => {
        // In the same turn: an interruption that comes now must find the state as it is.
        if (!over) this.#confirmed();
        settle();
      }, (error: unknown) => {
        // Of other errors another attempt may be free.
        const final = error instanceof RelayError && error.fault !== "unavailable";
        if (!over && final && this.#settle !== null) this.end(error);
        settle();
      });
    });
  }

  #confirmed(): void {
    this.#state = "confirmed";
    this.#settle?.resolve();
    if (this.#settle === null) {
      // What the listener throws is its own, and does not end the asking.
      queueMicrotask(() => {
        if (this.#state === "confirmed") this.#options.resumed();
      });
    }
    this.#settle = null;
  }

  async #pause(): Promise<void> {
    if (this.#woken) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, RETRY_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = () => {};
  }
}

/**
 * The error of a broker's refusal.
 *
 * @param cause What it said.
 */
export function refused(cause: unknown): RelayError {
  return new RelayError("failed", "the broker refuses it", cause);
}
