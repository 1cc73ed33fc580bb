/**
 * The way out of a connection: its sink, and whether that takes a chunk now.
 *
 * @module
 */
import type { Sink } from "./sink.ts";

/** What became of a stream that was closed. */
export interface Closed {
  /** Settles when the runtime has flushed the stream, where it can tell. */
  readonly flushed: Promise<unknown> | undefined;
  /** Whether the runtime may still hold the socket. */
  readonly abandoned: boolean;
  /** Drops what has not been flushed after all: a peer that stopped reading would hold it for ever. */
  drop(): void;
}

/** A sink and its demand. Nothing is handed over that the runtime did not ask for. */
export class Outlet {
  #sink: Sink | null = null;
  #ready = false;
  #pumping = false;
  #closed = false;

  /** Whether the runtime takes a chunk now. */
  get ready(): boolean {
    return this.#ready;
  }

  /**
   * Takes its sink; a second one is ignored, and one that comes too late is dropped.
   *
   * @param sink The sink.
   */
  attach(sink: Sink): void {
    if (this.#closed) sink.destroy();
    else this.#sink ??= sink;
  }

  /** The runtime asks for a chunk. */
  ask(): void {
    this.#ready = true;
  }

  /**
   * Hands over chunks for as long as the runtime takes them. A call from within does nothing: the
   * outer one goes on.
   *
   * @param next Makes the next chunk; `null` when there is none.
   * @param taken Called after each that was taken.
   * @returns Whether no write failed.
   */
  pump(next: () => Uint8Array | null, taken: () => void): boolean {
    if (this.#pumping || this.#sink === null) return true;
    this.#pumping = true;
    try {
      while (this.#ready && !this.#closed) {
        const chunk = next();
        if (chunk === null) break;
        this.#ready = false;
        if (!this.#write(this.#sink, chunk)) return false;
        taken();
      }
      return true;
    } finally {
      this.#pumping = false;
    }
  }

  /**
   * Lets the sink go.
   *
   * @param orderly Whether to end after what was written, rather than to drop the stream.
   * @returns What became of it.
   */
  close(orderly: boolean): Closed {
    this.#closed = true;
    const sink = this.#sink;
    const drop = (): void => void attempt(() => sink?.destroy());
    if (orderly) {
      return { flushed: attempt(() => sink?.end()) ?? undefined, abandoned: false, drop };
    }
    drop();
    return { flushed: undefined, abandoned: sink !== null && !sink.dropsSocket, drop };
  }

  #write(sink: Sink, chunk: Uint8Array): boolean {
    try {
      if (sink.write(chunk)) this.#ready = true;
      return true;
    } catch {
      return false;
    }
  }
}

/** The other side may have closed first, and some runtimes throw then: nothing is left to let go. */
function attempt<T>(release: () => T): T | undefined {
  try {
    return release();
  } catch {
    return undefined;
  }
}
