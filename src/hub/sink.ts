/**
 * The seam between a connection and a runtime: a connection writes to a {@linkcode Sink} and knows
 * no runtime; a runtime tells the connection's {@linkcode Peer} side what became of its socket.
 *
 * @module
 */

/** Where a connection's bytes go. */
export interface Sink {
  /**
   * Takes a chunk. The bytes are shared between connections: they are read, never changed.
   *
   * @param bytes The chunk.
   * @returns Whether the sink takes another one now; if not, it calls {@linkcode Peer.ready} later.
   * @throws When the socket is gone; the connection counts it as a failed write.
   */
  write(bytes: Uint8Array): boolean;

  /**
   * Ends the stream in good order, after all that was written.
   *
   * @returns Settles when it has been flushed, where the runtime can tell.
   */
  end(): void | Promise<unknown>;

  /** Drops the stream, and the socket where the runtime can. What was not flushed is lost. */
  destroy(): void;

  /** Whether `destroy` closes the socket; where it cannot, the stream counts as abandoned. */
  readonly dropsSocket?: boolean;
}

/** A connection as the runtime that carries it sees it. Each call may come late, twice or never. */
export interface Peer {
  /**
   * Gives the connection its sink. Nothing is written before.
   *
   * @param sink The sink; a second one is ignored.
   */
  attach(sink: Sink): void;
  /** The sink takes a chunk now. */
  ready(): void;
  /** The other side has left. */
  left(): void;
  /** A write failed. */
  failed(): void;
}

const peers = new WeakMap<ReadableStream<Uint8Array>, Peer>();

/**
 * Ties a response's body to its connection, so that an adapter which drives the socket itself finds
 * it. The key is the body: middleware that wraps a response in another with the same body does no
 * harm.
 *
 * @param body The stream that was given out as the response's body.
 * @param peer The connection.
 */
export function bindPeer(body: ReadableStream<Uint8Array>, peer: Peer): void {
  peers.set(body, peer);
}

/**
 * The connection behind a response's body.
 *
 * @param body The body of a response.
 * @returns The connection, or `undefined` when the body is not one of a hub's streams.
 */
export function peerOf(body: ReadableStream<Uint8Array> | null): Peer | undefined {
  return body === null ? undefined : peers.get(body);
}

/** What the runtime's own argument to a handler can do for a stream. */
export interface StreamHost {
  /** Settles when the whole response has been sent. */
  readonly flushed?: Promise<unknown> | undefined;
  /** Drops the socket of a stream that was ended while its peer took nothing. */
  readonly drop?: (() => void) | undefined;
  /** Whether a dropped stream is cut by an error, wherever that is logged: a test wants it so. */
  readonly abrupt?: boolean;
}

/**
 * Deno, Bun and Workers log the error of a stream with its stack and keep the socket all the same:
 * there a dropped stream just ends, for a peer that stopped reading hears neither. Bridges on Node
 * throw it off its socket by the error.
 */
const ENDS_QUIETLY = "Deno" in globalThis || "Bun" in globalThis || "WebSocketPair" in globalThis;

/**
 * Reads the second argument of a runtime's handler: of Bun's server `timeout`, of Deno's info
 * `completed`, and nothing else. On Bun the idle timeout of the stream is turned off.
 *
 * @param request The request.
 * @param host The second argument.
 * @returns What it can do.
 */
export function hostOf(request: Request, host: unknown): StreamHost {
  if (typeof host !== "object" || host === null) return {};
  if ("completed" in host && host.completed instanceof Promise) {
    const flushed = host.completed;
    // It rejects when the peer leaves, which is told by the stream's cancel as well.
    flushed.catch(() => {});
    return { flushed };
  }
  if ("timeout" in host && typeof host.timeout === "function") {
    const server = host as { timeout(request: Request, seconds: number): void };
    server.timeout(request, 0);
    return { drop: () => server.timeout(request, 1) };
  }
  return {};
}

/**
 * A sink over a default `ReadableStream`: the runtime's pull is what says ready.
 *
 * A default stream, for a stream of type `bytes` detaches the buffers it is given and the frames are
 * shared. Its high-water mark is 0, so that a chunk is handed over only when the runtime asks: an
 * `enqueue` regardless of demand grows without bound behind a peer that does not read.
 *
 * @param peer The connection.
 * @param host What the runtime can do for the stream.
 * @returns The body.
 */
export function streamBody(peer: Peer, host: StreamHost = {}): ReadableStream<Uint8Array> {
  let attached = false;
  const body = new ReadableStream<Uint8Array>({
    // Returns at once: a pull that stays pending is taken for a hung script on some runtimes.
    pull(controller) {
      if (!attached) {
        attached = true;
        peer.attach(new StreamSink(controller, host));
      }
      peer.ready();
    },
    cancel() {
      peer.left();
    },
  }, { highWaterMark: 0 });
  bindPeer(body, peer);
  return body;
}

class StreamSink implements Sink {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>;
  readonly #host: StreamHost;

  constructor(controller: ReadableStreamDefaultController<Uint8Array>, host: StreamHost) {
    this.#controller = controller;
    this.#host = host;
  }

  get dropsSocket(): boolean {
    return this.#host.drop !== undefined;
  }

  write(bytes: Uint8Array): boolean {
    this.#controller.enqueue(bytes);
    // With a high-water mark of 0 only the next pull asks for more.
    return false;
  }

  end(): Promise<unknown> | undefined {
    this.#controller.close();
    // From now on nobody else bounds how long the peer may take over its last bytes.
    this.#host.drop?.();
    return this.#host.flushed;
  }

  destroy(): void {
    this.#host.drop?.();
    if (ENDS_QUIETLY && this.#host.abrupt !== true) this.#controller.close();
    else this.#controller.error(new Error("The hub dropped this stream"));
  }
}
