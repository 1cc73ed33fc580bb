/**
 * Ticket stores for tests: one that tells what it was asked, and one that fails when it is told to.
 *
 * @module
 */
import type { TicketStore } from "../../../src/tickets/types.ts";

/** A store that keeps everything for ever, and a record of what it was asked. */
export class LaxStore implements TicketStore {
  /** What is kept. */
  readonly kept = new Map<string, string>();
  /** What was asked, in order; a put with its time in milliseconds. */
  readonly asked: (readonly [what: "put" | "take", key: string, ttlMs?: number])[] = [];

  put(key: string, value: string, ttlMs: number): Promise<void> {
    this.asked.push(["put", key, ttlMs]);
    this.kept.set(key, value);
    return Promise.resolve();
  }

  take(key: string): Promise<string | null> {
    this.asked.push(["take", key]);
    const value = this.kept.get(key) ?? null;
    this.kept.delete(key);
    return Promise.resolve(value);
  }
}

/** How a store fails: nothing was done, or it was done and only the answer is lost. */
export type Failure = "before" | "after";

/** A store that fails once, each time that it is told to. */
export class FailingStore implements TicketStore {
  /** How the next call fails. */
  next: Failure | null = null;
  /** What is thrown for a key. */
  error: (key: string) => unknown = () => new Error("the store is away");
  readonly #store: TicketStore;

  /** @param store What is asked otherwise. */
  constructor(store: TicketStore) {
    this.#store = store;
  }

  put(key: string, value: string, ttlMs: number): Promise<void> {
    return this.#fail(key, () => this.#store.put(key, value, ttlMs));
  }

  take(key: string): Promise<string | null> {
    return this.#fail(key, () => this.#store.take(key));
  }

  async #fail<T>(key: string, ask: () => Promise<T>): Promise<T> {
    const failure = this.next;
    this.next = null;
    if (failure === "before") throw this.error(key);
    const answer = await ask();
    if (failure === "after") throw this.error(key);
    return answer;
  }
}
