/**
 * A sink that costs next to nothing: it takes all, and counts.
 *
 * @module
 */
import { type Peer, peerOf, type Sink } from "../../src/hub/sink.ts";
import type { Hub } from "../../src/hub/types.ts";

/** What the sinks of one benchmark took, together. */
export interface Tally {
  /** Chunks. */
  chunks: number;
  /** Bytes. */
  bytes: number;
}

class CountingSink implements Sink {
  readonly #tally: Tally;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  write(bytes: Uint8Array): boolean {
    this.#tally.chunks++;
    this.#tally.bytes += bytes.length;
    return true;
  }

  end(): void {}

  destroy(): void {}
}

/** What to connect as. */
export interface ConnectOptions {
  /** The topics; none means everything. */
  readonly topics?: readonly string[];
  /** The cursor to present. */
  readonly cursor?: string;
}

/**
 * Connects to a hub in the same process, without a socket or a web stream between.
 *
 * @param hub The hub.
 * @param tally Where to count.
 * @param options What to connect as.
 * @returns The connection, as its runtime sees it.
 * @throws {Error} When the hub refuses.
 */
export function connectSink(hub: Hub, tally: Tally, options: ConnectOptions = {}): Peer {
  const headers = new Headers();
  if (options.cursor !== undefined) headers.set("Last-Event-ID", options.cursor);
  const request = new Request("http://127.0.0.1/events", { headers });
  const response = hub.serve(request, { topics: options.topics ?? [] });
  const peer = peerOf(response.body);
  if (peer === undefined) throw new Error(`the hub answered ${response.status}`);
  // Held, so that no runtime cancels a stream that was collected unread.
  held.push(response);
  peer.attach(new CountingSink(tally));
  peer.ready();
  return peer;
}

const held: Response[] = [];

/**
 * Forgets the responses of connections that have ended.
 */
export function release(): void {
  held.length = 0;
}
