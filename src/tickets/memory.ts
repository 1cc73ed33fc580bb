/**
 * Tickets in memory: for tests, and for a server that is one process.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { TicketError } from "../errors/ticket.ts";
import type { TicketStore } from "./types.ts";

export type { TicketStore };

/** Options of {@linkcode createMemoryTicketStore}. */
export interface MemoryTicketOptions {
  /** The most tickets at once; 100,000; from 1. Those beyond it are refused, not those before it lost. */
  readonly maxTickets?: number;
  /** The most bytes that what they stand for may take together; 64 MiB; from 1. */
  readonly maxBytes?: number;
  /**
   * The time by which tickets expire, in milliseconds from any instant on; `performance.now` by
   * default, which never goes back.
   */
  readonly now?: () => number;
}

const MAX_TICKETS = 100_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** What expires within one such span is looked through together, in milliseconds. */
const SPAN_MS = 256;

/** How often what has expired is let go of while there is room, in milliseconds. */
const SWEEP_MS = 1000;

interface Kept {
  readonly value: string;
  readonly until: number;
}

/**
 * Makes a store for the tickets of one process. A ticket that was minted here is unknown elsewhere: pods
 * share one in Redis, or a Durable Object.
 *
 * No timer runs. What has expired is let go of when another ticket is put.
 *
 * @param options Its bounds.
 * @returns The store. It rejects with a {@linkcode TicketError} `unavailable` when it is full.
 * @throws {ConfigError} When a bound makes no sense.
 */
export function createMemoryTicketStore(options: MemoryTicketOptions = {}): TicketStore {
  const { maxTickets = MAX_TICKETS, maxBytes = MAX_BYTES, now } = options;
  for (const [name, bound] of Object.entries({ maxTickets, maxBytes })) {
    if (Number.isSafeInteger(bound) && bound >= 1) continue;
    throw new ConfigError(name, `it is ${String(bound)}, it must be a whole number from 1`);
  }
  return new MemoryTicketStore(maxTickets, maxBytes, now ?? (() => performance.now()));
}

/** Everything is done when a method returns; the promise only carries it. */
class MemoryTicketStore implements TicketStore {
  readonly #maxTickets: number;
  readonly #maxBytes: number;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept>();
  /** The keys by the span in which they expire: the expired are found without looking at the rest. */
  readonly #spans = new Map<number, Set<string>>();
  #bytes = 0;
  #sweptAt = -Infinity;

  constructor(maxTickets: number, maxBytes: number, now: () => number) {
    this.#maxTickets = maxTickets;
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  put(key: string, value: string, ttlMs: number): Promise<void> {
    const now = this.#now();
    this.#remove(key);
    if (!(ttlMs > 0)) return Promise.resolve();
    if (this.#isFull(value) || now - this.#sweptAt >= SWEEP_MS) this.#sweep(now);
    if (this.#isFull(value)) {
      const bounds = `${this.#maxTickets} tickets or ${this.#maxBytes} bytes`;
      const reason = `the store in memory is full, it takes ${bounds}`;
      return Promise.reject(new TicketError("unavailable", reason));
    }
    const until = now + ttlMs;
    this.#kept.set(key, { value, until });
    this.#bytes += sizeOf(value);
    const span = spanOf(until);
    const keys = this.#spans.get(span);
    if (keys === undefined) this.#spans.set(span, new Set([key]));
    else keys.add(key);
    return Promise.resolve();
  }

  take(key: string): Promise<string | null> {
    const now = this.#now();
    const kept = this.#remove(key);
    return Promise.resolve(kept !== undefined && now < kept.until ? kept.value : null);
  }

  #isFull(value: string): boolean {
    return this.#kept.size >= this.#maxTickets || this.#bytes + sizeOf(value) > this.#maxBytes;
  }

  #remove(key: string): Kept | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    this.#bytes -= sizeOf(kept.value);
    const span = spanOf(kept.until);
    const keys = this.#spans.get(span);
    keys?.delete(key);
    if (keys?.size === 0) this.#spans.delete(span);
    return kept;
  }

  #sweep(now: number): void {
    this.#sweptAt = now;
    const current = spanOf(now);
    for (const [span, keys] of this.#spans) {
      if (span > current) continue;
      for (const key of keys) {
        const kept = this.#kept.get(key);
        if (kept !== undefined && !(now < kept.until)) this.#remove(key);
      }
    }
  }
}

/** A string takes two bytes for each code unit, at most. */
function sizeOf(value: string): number {
  return 2 * value.length;
}

function spanOf(time: number): number {
  return Math.floor(time / SPAN_MS);
}
