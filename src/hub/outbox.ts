/**
 * What one connection is told besides events (its opening, its hook's frames, its farewell), and how
 * anything is cut into chunks.
 *
 * @module
 */
import { MAX_CHUNK_BYTES } from "./joiner.ts";

interface Note {
  readonly bytes: Uint8Array;
  /** Called when the runtime has taken the last byte, or with the error that it never will. */
  readonly settled: ((error?: Error) => void) | undefined;
}

/** The connection's own frames, in order, and the rest of a frame larger than a chunk. */
export class Outbox {
  #notes: Note[] = [];
  #rest: Uint8Array | null = null;
  /** Whose bytes are in the chunk being made, or in the rest of one. */
  #leaving: Note[] = [];

  /** Whether nothing of it waits. */
  get empty(): boolean {
    return this.#notes.length === 0 && this.#rest === null;
  }

  /** Whether a frame has been begun whose rest must go before anything else. */
  get midFrame(): boolean {
    return this.#rest !== null;
  }

  /** Whether a frame waits whose sender wants to know what became of it. */
  get hasPromise(): boolean {
    const waits = (note: Note): boolean => note.settled !== undefined;
    return this.#leaving.some(waits) || this.#notes.some(waits);
  }

  /**
   * Adds a frame.
   *
   * @param bytes Its bytes.
   * @param settled Called when they were taken, or with the error that they never will be.
   */
  push(bytes: Uint8Array, settled?: (error?: Error) => void): void {
    this.#notes.push({ bytes, settled });
  }

  /**
   * Adds a frame whose sender waits for it.
   *
   * @param bytes Its bytes.
   * @returns Settles when the runtime has taken them.
   * @throws What {@linkcode clear} was given, when they never will be.
   */
  promise(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.push(bytes, (error) => error === undefined ? resolve() : reject(error));
    });
  }

  /**
   * Moves frames into a chunk.
   *
   * @param parts The chunk being made.
   * @param room How many bytes it may still take; its first part is taken whatever its size.
   * @returns How much room is left.
   */
  moveTo(parts: Uint8Array[], room: number): number {
    for (;;) {
      const note = this.#notes[0];
      if (note === undefined || room <= 0) return room;
      if (parts.length > 0 && note.bytes.length > room) return 0;
      this.#notes.shift();
      this.#leaving.push(note);
      parts.push(note.bytes);
      room -= note.bytes.length;
    }
  }

  /**
   * Cuts what leaves to the size of a chunk, and keeps the rest.
   *
   * @param bytes What leaves.
   * @returns The chunk.
   */
  cut(bytes: Uint8Array): Uint8Array {
    const whole = bytes.length <= MAX_CHUNK_BYTES;
    this.#rest = whole ? null : bytes.subarray(MAX_CHUNK_BYTES);
    return whole ? bytes : bytes.subarray(0, MAX_CHUNK_BYTES);
  }

  /** The next slice of the frame that has been begun; `null` when there is none. */
  next(): Uint8Array | null {
    return this.#rest === null ? null : this.cut(this.#rest);
  }

  /** Says that the runtime took the chunk. */
  taken(): void {
    if (this.#rest !== null || this.#leaving.length === 0) return;
    const taken = this.#leaving;
    this.#leaving = [];
    for (const note of taken) note.settled?.();
  }

  /**
   * Forgets what waits, except the rest of a frame that has been begun.
   *
   * @param error Makes what each sender is told.
   * @param keepOpening Whether what nobody waits for stays: a stream's opening comes before its end.
   */
  clear(error: () => Error, keepOpening: boolean = false): void {
    const isOpening = ({ settled }: Note): boolean => keepOpening && settled === undefined;
    const lost = [...this.#leaving, ...this.#notes.filter((note) => !isOpening(note))];
    this.#notes = this.#notes.filter(isOpening);
    this.#leaving = [];
    for (const note of lost) note.settled?.(error());
  }
}
