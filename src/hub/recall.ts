/**
 * What an application recalls of a topic from a log of its own, event by event, at the socket's pace.
 *
 * @module
 */
import { encodeFrame } from "../wire/frame.ts";
import type { Echoes } from "./echoes.ts";
import { checkEvent } from "./event.ts";
import type { FrameLook, FrameSource } from "./history.ts";
import type { RecalledEvent } from "./types.ts";

/** A reader of an application's own log. */
export class Recall implements FrameSource {
  readonly #events: AsyncIterator<RecalledEvent>;
  readonly #keepaliveEvent: string;
  readonly #echoes: Echoes;
  readonly #failed: (error: unknown) => void;
  readonly #wake: () => void;
  #look: FrameLook | null = null;

  /**
   * @param events What is recalled.
   * @param keepaliveEvent The hub's keepalive name, which no event may carry.
   * @param echoes Remembers what was given.
   * @param failed Takes what the application's log, or a check of its events, threw.
   * @param wake Called when there is something to look at.
   */
  constructor(
    events: AsyncIterable<RecalledEvent>,
    keepaliveEvent: string,
    echoes: Echoes,
    failed: (error: unknown) => void,
    wake: () => void,
  ) {
    this.#events = events[Symbol.asyncIterator]();
    this.#keepaliveEvent = keepaliveEvent;
    this.#echoes = echoes;
    this.#failed = failed;
    this.#wake = wake;
  }

  look(): FrameLook {
    if (this.#look === null) {
      this.#look = { kind: "wait" };
      void this.#next();
    }
    return this.#look;
  }

  take(): void {
    if (this.#look?.kind !== "frame") return;
    this.#echoes.recalled(this.#look.bytes);
    this.#look = null;
  }

  cancel(): void {
    this.#look = { kind: "end" };
    // What its end throws concerns nobody any more.
    Promise.resolve(this.#events.return?.()).catch(() => {});
  }

  async #next(): Promise<void> {
    let look: FrameLook;
    try {
      const { done, value } = await this.#events.next();
      look = done === true ? { kind: "end" } : { kind: "frame", bytes: this.#encode(value) };
    } catch (error) {
      this.#failed(error);
      look = { kind: "broken" };
    }
    // Cancelled meanwhile.
    if (this.#look?.kind !== "wait") return;
    this.#look = look;
    this.#wake();
  }

  #encode(event: RecalledEvent): Uint8Array {
    const { name, data } = checkEvent(event, this.#keepaliveEvent);
    return encodeFrame(null, name, data);
  }
}
