/**
 * A client's stream in the Worker: bytes that wait until the runtime asks for them.
 *
 * @module
 */

/** Who is told what becomes of a client's stream. Each may be told late or twice. */
export interface BodyEvents {
  /** The runtime asks for more: what it was given before has left. */
  asked(): void;
  /** The runtime was given so many bytes that came over the socket. */
  taken(bytes: number): void;
  /** The client has left. */
  left(): void;
  /** The stream has ended, behind everything that was written. */
  ended(): void;
}

/** Bytes on their way to a client. */
export class HopBody {
  /** The response's body. */
  readonly stream: ReadableStream<Uint8Array>;
  readonly #events: BodyEvents;
  readonly #queue: { readonly bytes: Uint8Array; readonly counted: boolean }[] = [];
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** Whether the runtime has asked for a chunk and was given none. */
  #asked = false;
  #ending = false;
  #over = false;
  #waiting = 0;
  #notes = 0;

  /** @param events Who is told. */
  constructor(events: BodyEvents) {
    this.#events = events;
    this.stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      // Returns at once: a pull that stays pending is taken for a hung script.
      pull: () => {
        this.#asked = true;
        events.asked();
        this.#give();
      },
      cancel: () => this.#leave(),
    }, { highWaterMark: 0 });
  }

  /** How many bytes of the socket's wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many of the Worker's own notes wait. */
  get notes(): number {
    return this.#notes;
  }

  /** Whether nothing waits, and the runtime asks for more. */
  get idle(): boolean {
    return this.#asked && this.#queue.length === 0;
  }

  /**
   * Takes bytes.
   *
   * @param bytes The bytes: whole frames.
   * @param counted Whether they came over the socket, and are acknowledged.
   */
  write(bytes: Uint8Array, counted: boolean): void {
    if (this.#over || this.#ending || bytes.length === 0) return;
    this.#queue.push({ bytes, counted });
    if (counted) this.#waiting += bytes.length;
    else this.#notes++;
    this.#give();
  }

  /** Ends the stream behind what was written. */
  end(): void {
    this.#ending = true;
    this.#give();
  }

  /** Ends the stream without what waits: its client takes nothing. */
  drop(): void {
    this.#queue.length = 0;
    this.#asked = true;
    this.end();
  }

  #give(): void {
    if (this.#over || !this.#asked) return;
    const next = this.#queue.shift();
    if (next === undefined && !this.#ending) return;
    this.#asked = false;
    try {
      if (next === undefined) {
        this.#over = true;
        this.#controller?.close();
        return this.#events.ended();
      }
      this.#controller?.enqueue(next.bytes);
    } catch {
      return this.#leave();
    }
    if (!next.counted) {
      this.#notes--;
      return;
    }
    this.#waiting -= next.bytes.length;
    this.#events.taken(next.bytes.length);
  }

  #leave(): void {
    if (this.#over) return;
    this.#over = true;
    this.#queue.length = 0;
    this.#events.left();
  }
}
