/**
 * A relay over a `BroadcastChannel`: between the tabs of an origin, between the workers of a process,
 * between the isolates of Deno Deploy.
 *
 * There is no broker, so nothing is confirmed and nothing is ever "away". Messages are lost in silence
 * all the same: Deno drops some when a burst meets a worker that is busy, and on Deno Deploy an
 * isolate of an older deployment is no longer heard. The counters in the envelopes tell.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { RelayError } from "../errors/relay.ts";
import type { Relay, RelayListener, RelaySubscription } from "./relay.ts";

export type { Relay, RelayListener, RelaySubscription };

/**
 * Makes a relay over a `BroadcastChannel`. There is no bound for a message. On Node and Bun it does not
 * keep a process alive; on Deno an open channel does, until the relay is closed.
 *
 * @param name The channel's name, not empty. What others post there is passed over, unless it is a
 * `Uint8Array`.
 * @returns The relay.
 * @throws {ConfigError} When the name is empty.
 * @throws {RelayError} `unavailable` where there is no `BroadcastChannel`: in workerd.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createBroadcastChannelRelay } from "@tidemark/sse/relay/broadcast_channel";
 *
 * const [one, other] = [1, 2].map(() => createBroadcastChannelRelay("orders"));
 * const heard = new Promise<Uint8Array>((message) => {
 *   void other?.listen({ message, resumed() {} });
 * });
 * one?.send(Uint8Array.of(1, 2, 3));
 * assertEquals(await heard, Uint8Array.of(1, 2, 3));
 * await Promise.all([one?.close(), other?.close()]);
 * ```
 */
export function createBroadcastChannelRelay(name: string): Relay {
  if (name === "") throw new ConfigError("name", "it is empty");
  if (typeof BroadcastChannel !== "function") {
    throw new RelayError("unavailable", "this runtime has no BroadcastChannel");
  }
  return new ChannelRelay(new BroadcastChannel(name));
}

/** A relay on a channel. */
class ChannelRelay implements Relay {
  readonly maxBytes = Infinity;
  readonly #channel: BroadcastChannel;
  readonly #listeners = new Set<{ readonly listener: RelayListener }>();
  #closed = false;

  constructor(channel: BroadcastChannel) {
    this.#channel = channel;
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (data instanceof Uint8Array) this.#deliver(data);
    };
    channel.onmessageerror = () => {
      // Something came that could not be read: a message, perhaps.
      for (const { listener } of this.#listeners) listener.resumed();
    };
    // Node and Bun only: there an open channel is a reason to go on running.
    if ("unref" in channel && typeof channel.unref === "function") channel.unref();
  }

  send(message: Uint8Array): void {
    this.#ensureOpen();
    // What is posted is copied with the whole of the buffer that it lies in, or shares it.
    const { buffer } = message;
    const own = buffer instanceof ArrayBuffer && buffer.byteLength === message.byteLength;
    this.#channel.postMessage(own ? message : new Uint8Array(message));
    // A channel does not hear itself, but this pod may be two hubs on one relay.
    this.#deliver(message);
  }

  listen(
    listener: RelayListener,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<RelaySubscription> {
    // What is thrown in here rejects.
    return new Promise((resolve) => {
      this.#ensureOpen();
      options.signal?.throwIfAborted();
      const entry = { listener };
      this.#listeners.add(entry);
      resolve({
        close: (): Promise<void> => {
          this.#listeners.delete(entry);
          return Promise.resolve();
        },
      });
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    this.#channel.close();
    return Promise.resolve();
  }

  #deliver(message: Uint8Array): void {
    // A microtask for each: one that throws takes the message from nobody else.
    for (const entry of this.#listeners) {
      queueMicrotask(() => {
        if (this.#listeners.has(entry)) entry.listener.message(new Uint8Array(message));
      });
    }
  }

  #ensureOpen(): void {
    if (this.#closed) throw new RelayError("closed", "it has been closed");
  }
}
