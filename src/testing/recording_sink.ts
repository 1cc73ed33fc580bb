/**
 * A runtime's side of a connection, played by a test.
 *
 * @module
 */
import { type Peer, peerOf, type Sink } from "../hub/sink.ts";
import { type Frame, parseFrames } from "./frames.ts";

/**
 * A sink that keeps what it is given and takes more only when the test says so: a peer that reads
 * slowly, stops, or goes away.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { RecordingSink } from "@tidemark/sse/testing";
 *
 * const hub = createHub();
 * const sink = RecordingSink.for(hub.serve(new Request("http://localhost/events")));
 * assertEquals(sink.frames.map((frame) => frame.event), ["retry", "sse:hello"]);
 *
 * sink.refuse();
 * hub.publish({ data: "the chunk that is answered with no" });
 * await Promise.resolve();
 * hub.publish({ data: "waits" });
 * assertEquals(hub.queuedFrames, 1);
 *
 * sink.accept();
 * assertEquals(sink.frames.at(-1)?.data, "waits");
 * sink.leave();
 * assertEquals(hub.clientCount, 0);
 * ```
 */
export class RecordingSink implements Sink {
  /** What was written, in order. */
  readonly chunks: Uint8Array[] = [];
  /** How often a chunk came although the sink had said no: a connection must never do that. */
  overruns = 0;
  /** Whether the stream was ended in good order. */
  ended = false;
  /** Whether the stream was dropped. */
  destroyed = false;
  #peer: Peer | undefined;
  #ready = true;
  #asked = true;
  #failure: Error | undefined;
  #endsWhen: Promise<unknown> | undefined;

  /**
   * A sink that stands for the runtime of a response.
   *
   * @param response A response of a hub's `serve`; its body must not have been read.
   * @param ready Whether the sink takes chunks at first.
   * @returns The sink, attached.
   * @throws {TypeError} When the response is not a hub's stream.
   */
  static for(response: Response, ready = true): RecordingSink {
    const peer = peerOf(response.body);
    if (peer === undefined) {
      throw new TypeError("Cannot attach a sink: the response is not a hub's stream");
    }
    const sink = new RecordingSink();
    sink.attach(peer, ready);
    return sink;
  }

  /**
   * Gives the sink to a connection.
   *
   * @param peer The connection.
   * @param ready Whether the sink takes chunks at first.
   */
  attach(peer: Peer, ready = true): void {
    this.#peer = peer;
    this.#ready = ready;
    this.#asked = ready;
    peer.attach(this);
    if (ready) peer.ready();
  }

  /** Takes no more: the next chunk is answered with "not now", which no {@linkcode accept} follows. */
  refuse(): void {
    this.#ready = false;
  }

  /** Takes chunks again, and says so. */
  accept(): void {
    this.#ready = true;
    this.#asked = true;
    this.#peer?.ready();
  }

  /** Takes one chunk, and then no more. */
  acceptOne(): void {
    this.#ready = false;
    this.#asked = true;
    this.#peer?.ready();
  }

  /**
   * Fails every write from now on, as a dead socket does.
   *
   * @param error What `write` throws.
   */
  fail(error: Error = new Error("The socket is gone")): void {
    this.#failure = error;
  }

  /** The other side leaves. */
  leave(): void {
    this.#peer?.left();
  }

  /**
   * Decides when an ended stream counts as flushed.
   *
   * @param flushed Settles then.
   */
  flushWhen(flushed: Promise<unknown>): void {
    this.#endsWhen = flushed;
  }

  /** Everything that was written, as text. */
  get text(): string {
    // Some decoders strip a byte order mark from every chunk.
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return this.chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") +
      decoder.decode();
  }

  /** The frames in what was written; see {@linkcode readFrames} for what counts. */
  get frames(): Frame[] {
    return parseFrames(this.chunks);
  }

  /** Takes a chunk: the connection's side, see {@linkcode Sink.write}. */
  write(bytes: Uint8Array): boolean {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.ended || this.destroyed || !this.#asked) this.overruns++;
    // A copy: the hub shares its chunks, and a test must see what they were when they were written.
    this.chunks.push(bytes.slice());
    this.#asked = this.#ready;
    return this.#ready;
  }

  /** Ends the stream: the connection's side, see {@linkcode Sink.end}. */
  end(): Promise<unknown> | void {
    this.ended = true;
    return this.#endsWhen;
  }

  /** Drops the stream: the connection's side, see {@linkcode Sink.destroy}. */
  destroy(): void {
    this.destroyed = true;
  }
}
