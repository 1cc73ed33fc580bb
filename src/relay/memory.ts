/**
 * A relay in memory: for tests, and for several hubs within one process.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { RelayError } from "../errors/relay.ts";
import type { Relay, RelayListener, RelaySubscription } from "./relay.ts";

export type { Relay, RelayListener, RelaySubscription };

/** Options of a relay in memory. */
export interface MemoryRelayOptions {
  /**
   * The most bytes of one message; no bound by default. At least 1. Set to the bound of the broker
   * that runs in production, a test meets what is too large there.
   */
  readonly maxBytes?: number;
}

/** What relays in memory are connected to. */
export interface MemoryRelayBus {
  /**
   * Connects a relay. Each hears what any of them sends, itself too.
   *
   * @returns A relay, to be closed by whoever connected it; the others go on.
   */
  connect(): Relay;
}

/**
 * Makes a relay in memory. One object can be handed to several hubs of the process, which then hear
 * each other; to close them one by one, connect each to a {@linkcode createMemoryRelayBus | bus}.
 *
 * @param options The bound of a message.
 * @returns The relay. It loses nothing, and delivers in a later microtask.
 * @throws {ConfigError} When the bound makes no sense.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createMemoryRelay } from "@tidemark/sse/relay/memory";
 *
 * const relay = createMemoryRelay();
 * const heard = new Promise<Uint8Array>((message) => {
 *   void relay.listen({ message, resumed() {} });
 * });
 * relay.send(Uint8Array.of(1, 2, 3));
 * assertEquals(await heard, Uint8Array.of(1, 2, 3));
 * await relay.close();
 * ```
 */
export function createMemoryRelay(options: MemoryRelayOptions = {}): Relay {
  return createMemoryRelayBus(options).connect();
}

/**
 * Makes what several relays in memory are connected to: one for each pod of a test, say.
 *
 * @param options The bound of a message.
 * @returns The bus.
 * @throws {ConfigError} When the bound makes no sense.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createMemoryRelayBus } from "@tidemark/sse/relay/memory";
 *
 * const bus = createMemoryRelayBus();
 * const [one, other] = [bus.connect(), bus.connect()];
 * const heard = new Promise<Uint8Array>((message) => {
 *   void other.listen({ message, resumed() {} });
 * });
 * one.send(Uint8Array.of(7));
 * await one.close();
 * assertEquals(await heard, Uint8Array.of(7));
 * await other.close();
 * ```
 */
export function createMemoryRelayBus(options: MemoryRelayOptions = {}): MemoryRelayBus {
  const { maxBytes = Infinity } = options;
  if (!(maxBytes >= 1)) {
    throw new ConfigError("maxBytes", `it is ${maxBytes}, it must be 1 or more`);
  }
  const ears = new Set<Ear>();
  return { connect: (): Relay => new MemoryRelay(ears, maxBytes) };
}

/** Who listens, and to which relay's account; it hears while it is in the set. */
interface Ear {
  readonly relay: MemoryRelay;
  readonly listener: RelayListener;
}

/** A relay on a set of ears. */
class MemoryRelay implements Relay {
  readonly maxBytes: number;
  readonly #ears: Set<Ear>;
  #closed = false;

  constructor(ears: Set<Ear>, maxBytes: number) {
    this.#ears = ears;
    this.maxBytes = maxBytes;
  }

  send(message: Uint8Array): void {
    this.#ensureOpen();
    if (message.length > this.maxBytes) {
      throw new RelayError(
        "too_large",
        `the message has ${message.length} bytes, the bound is ${this.maxBytes}`,
      );
    }
    for (const ear of this.#ears) {
      // A microtask for each: one that throws takes the message from nobody else.
      queueMicrotask(() => {
        // A copy for each; the `slice` of a `Buffer` would be none.
        if (this.#ears.has(ear)) ear.listener.message(new Uint8Array(message));
      });
    }
  }

  listen(
    listener: RelayListener,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<RelaySubscription> {
    // What is thrown in here rejects.
    return new Promise((resolve) => {
      this.#ensureOpen();
      options.signal?.throwIfAborted();
      const ear: Ear = { relay: this, listener };
      this.#ears.add(ear);
      resolve({
        close: (): Promise<void> => {
          this.#ears.delete(ear);
          return Promise.resolve();
        },
      });
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const ear of this.#ears) if (ear.relay === this) this.#ears.delete(ear);
    return Promise.resolve();
  }

  #ensureOpen(): void {
    if (this.#closed) throw new RelayError("closed", "it has been closed");
  }
}
