/**
 * A hub's connection, played by a test: it writes what the test says and keeps what it was told.
 *
 * @module
 */
import { bindPeer, type Peer, type Sink } from "../../../src/hub/sink.ts";

/** What a peer is told. */
export type PeerCall = "attach" | "ready" | "left" | "failed";

/** A connection without a hub. */
export class FakePeer implements Peer {
  /** What it was told, in order. */
  readonly calls: PeerCall[] = [];
  /** The response that carries it. */
  readonly response: Response;
  /** What it does when the sink takes a chunk. */
  onReady: (sink: Sink) => void | Promise<void> = () => {};
  #sink: Sink | undefined;

  /** @param headers Headers of the response beside its type. */
  constructor(headers: Record<string, string> = {}) {
    const body = new ReadableStream<Uint8Array>({}, { highWaterMark: 0 });
    bindPeer(body, this);
    this.response = new Response(body, {
      headers: { "Content-Type": "text/event-stream", ...headers },
    });
  }

  /** The sink it was given. */
  get sink(): Sink {
    if (this.#sink === undefined) throw new Error("The adapter gave the peer no sink");
    return this.#sink;
  }

  /** How often it was told something. */
  told(call: PeerCall): number {
    return this.calls.filter((one) => one === call).length;
  }

  attach(sink: Sink): void {
    this.calls.push("attach");
    this.#sink = sink;
  }

  ready(): void {
    this.calls.push("ready");
    void this.onReady(this.sink);
  }

  left(): void {
    this.calls.push("left");
  }

  failed(): void {
    this.calls.push("failed");
  }
}

const encoder = new TextEncoder();

/** The bytes of a text. */
export function bytes(text: string): Uint8Array {
  return encoder.encode(text);
}
