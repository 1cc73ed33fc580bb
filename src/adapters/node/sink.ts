/**
 * A connection on Node's response itself, without a web stream between them: less work per frame,
 * and a peer that does not read can be thrown off its socket.
 *
 * @module
 */
import { ServerResponse } from "node:http";
import type { Peer, Sink } from "../../hub/sink.ts";
import { chunked } from "./chunked.ts";
import type { NodeResponse, NodeSocket } from "./types.ts";

/** HTTP/2's INTERNAL_ERROR. Without a code the client would take a cut for an end. */
const INTERNAL_ERROR = 2;

/** Deno's and Bun's copies of `node:http` do not have a real socket behind a response. */
const ON_NODE = !("Deno" in globalThis) && !("Bun" in globalThis);

/**
 * Lets a connection drive a response whose head was set.
 *
 * @param peer The connection.
 * @param outgoing The response. It must have an `error` listener by now.
 */
export function drive(peer: Peer, outgoing: NodeResponse): void {
  const socket = plainSocket(outgoing);
  const ready = (): void => peer.ready();
  // The socket outlives the response: the listener must not.
  outgoing.on("close", () => {
    socket?.off?.("drain", ready);
    peer.left();
  });
  outgoing.on("error", () => peer.failed());
  (socket ?? outgoing).on?.("drain", ready);
  peer.attach(new NodeSink(outgoing, socket));
  peer.ready();
}

/**
 * The socket, where a chunk can be written to it past the response: a chunked response of HTTP/1.1,
 * whose turn it is, and whose `write` nobody has replaced.
 */
function plainSocket(outgoing: NodeResponse): NodeSocket | undefined {
  if (!ON_NODE || outgoing.write !== ServerResponse.prototype.write) return undefined;
  return outgoing.chunkedEncoding === true ? outgoing.socket ?? undefined : undefined;
}

class NodeSink implements Sink {
  readonly dropsSocket: boolean = true;
  readonly #outgoing: NodeResponse;
  readonly #socket: NodeSocket | undefined;
  #begun = false;

  constructor(outgoing: NodeResponse, socket: NodeSocket | undefined) {
    this.#outgoing = outgoing;
    this.#socket = socket;
  }

  write(bytes: Uint8Array): boolean {
    const outgoing = this.#outgoing;
    // Node drops such a write in silence or answers with an error event; the connection is told.
    // Past somebody else's end the socket belongs to the next response.
    if (isGone(outgoing) || outgoing.writableEnded) {
      throw new Error("Cannot write: the response has ended");
    }
    // Node writes a chunk as four pieces, for each client anew. Made one piece, for all clients at
    // once, it costs a fifth less; but the first must go through Node, which puts the head before.
    if (this.#begun && outgoing.writableCorked === 0 && bytes.length > 0) {
      const taken = this.#socket?.write?.(chunked(bytes));
      if (taken !== undefined) return taken;
    }
    this.#begun = true;
    return outgoing.write(bytes);
  }

  end(): Promise<void> {
    const outgoing = this.#outgoing;
    return new Promise((resolve) => {
      // `close` comes alone when the peer left before it had everything.
      outgoing.on("finish", () => resolve());
      outgoing.on("close", () => resolve());
      if (isGone(outgoing)) resolve();
      else outgoing.end();
    });
  }

  destroy(): void {
    destroy(this.#outgoing);
  }
}

/**
 * Whether nothing can be written any more.
 *
 * @param outgoing The response.
 * @returns Whether its socket or its stream is gone.
 */
export function isGone(outgoing: NodeResponse): boolean {
  return outgoing.destroyed === true || outgoing.stream?.destroyed === true;
}

/**
 * Drops a response so that the client sees a cut, not an end.
 *
 * @param outgoing The response.
 */
export function destroy(outgoing: NodeResponse): void {
  outgoing.stream?.close(INTERNAL_ERROR);
  outgoing.destroy();
}
