/**
 * What one connection has sent over its socket: never more ahead of its client than the window.
 *
 * @module
 */
import { ConnectionGoneError } from "../../../errors.ts";
import type { DepartureCause } from "../../../hub/presence.ts";
import type { HopPort, HopSaved, LiveEvent } from "./types.ts";
import { AckWindow, type WindowCounts } from "./window.ts";
import { type Control, encodeControl, encodePart } from "./wire.ts";

/** Where a connection stands, as its Worker is told with each part. */
export interface Standing {
  /** Everything that is its, up to here, was sent. */
  readonly offset: number;
  /** Whether it could go on from there over another socket. */
  readonly resumable: boolean;
}

/** One connection's way out. */
export class HopSender {
  readonly #port: HopPort;
  readonly #window: AckWindow;
  #told: Standing;
  /** Why it has ended. */
  #gone: DepartureCause | null = null;
  #waiting: (() => void)[] = [];
  /** Settles when those who came so far have had their turn. */
  #turns: Promise<void> = Promise.resolve();

  /**
   * @param port The socket.
   * @param counts What was sent over it, and taken.
   * @param told What its Worker was told last.
   */
  constructor(port: HopPort, counts: WindowCounts, told: Standing) {
    this.#port = port;
    this.#window = new AckWindow(counts);
    this.#told = told;
  }

  /** How many bytes may still be sent; a frame is begun as long as it is not 0. */
  get room(): number {
    return this.#window.room;
  }

  /** The offset that its Worker was told last. */
  get told(): number {
    return this.#told.offset;
  }

  /** @param control Something that is no frame. */
  say(control: Control): void {
    this.#port.send(encodeControl(control));
  }

  /** @param pasts So many pasts of topics were promised; until they were sent it cannot go on elsewhere. */
  promise(pasts: number): void {
    this.say({ type: "pasts", count: pasts });
    this.#told = { ...this.#told, resumable: false };
  }

  /**
   * Sends frames.
   *
   * @param bytes The frames; may be empty.
   * @param standing Where the connection stands behind them.
   */
  put(bytes: Uint8Array, standing: Standing): void {
    this.#told = standing;
    this.#window.send(bytes.length);
    this.#port.send(encodePart({ ...standing, bytes }));
  }

  /** @param event An event that was encoded for all. */
  putLive({ entry, size, message }: LiveEvent): void {
    this.#told = { offset: entry.offset, resumable: true };
    this.#window.send(size);
    this.#port.send(message);
  }

  /**
   * Tells where the connection stands, unless that is known.
   *
   * @param standing Where.
   * @returns Whether it was not.
   */
  tell(standing: Standing): boolean {
    const { offset, resumable } = this.#told;
    if (offset >= standing.offset && resumable === standing.resumable) return false;
    this.put(new Uint8Array(0), standing);
    return true;
  }

  /** @param taken How many bytes the client has taken in all. */
  ack(taken: number): void {
    this.#window.ack(taken);
    if (this.#window.room > 0) this.#wake();
  }

  /**
   * Sends when something may be sent; one after another, or all who wait would find the same room.
   *
   * @param send Sends a frame.
   * @throws {ConnectionGoneError} When the socket is closed.
   */
  inTurn(send: () => void): Promise<void> {
    const sent = this.#turns.then(async () => {
      while (this.#window.room === 0 && this.#gone === null) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
      if (this.#gone !== null) throw new ConnectionGoneError(this.#gone);
      send();
    });
    this.#turns = sent.catch(() => {});
    return sent;
  }

  /** Closes the socket: as {@linkcode HopPort.close}. */
  close(kept: boolean, cause: DepartureCause): void {
    this.#gone = cause;
    this.#wake();
    this.#port.close(kept, cause);
  }

  /** Keeps what is needed to go on. */
  save(saved: Omit<HopSaved, "tidemark" | keyof WindowCounts>): void {
    const { sent, acked } = this.#window;
    this.#port.save({ tidemark: 1, ...saved, sent, acked });
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
