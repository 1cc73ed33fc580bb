/**
 * What wakes the readers of a journal: a blocking read on a connection of its own.
 *
 * @module
 */
import { Bell } from "../bell.ts";
import type { RedisConnection } from "./client.ts";

/** How long one blocking read lasts at most, in milliseconds. */
const BLOCK_MS = 1000;

/** When one that has not ended is given up, in milliseconds: some clients never answer it. */
const GIVE_UP_MS = 2 * BLOCK_MS;

/**
 * A bell that Redis rings. While somebody waits it asks for the first entry above the highest head
 * that was seen; what it gets is not used, for it tells nothing of the epoch.
 */
export class Watcher extends Bell {
  readonly #connect: () => RedisConnection;
  readonly #stream: string;
  #connection: RedisConnection | null = null;
  #epoch = "";
  #head = 0;
  #waiting = 0;
  #watching = false;
  #leave: () => void = () => {};

  /**
   * Connects when it is first waited for.
   *
   * @param connect Gives the connection for blocking reads.
   * @param stream The key of the stream.
   */
  constructor(connect: () => RedisConnection, stream: string) {
    super();
    this.#connect = connect;
    this.#stream = stream;
  }

  /** The epoch that was seen last. */
  get epoch(): string {
    return this.#epoch;
  }

  /** The highest head that was seen under that epoch. */
  get head(): number {
    return this.#head;
  }

  /**
   * Notes what a script told, and rings when it is new.
   *
   * @param epoch The epoch.
   * @param head The head.
   */
  note(epoch: string, head: number): void {
    if (epoch === this.#epoch && head <= this.#head) return;
    this.#epoch = epoch;
    this.#head = head;
    this.ring();
  }

  /** Waits like every bell, and watches meanwhile. */
  override async wait(ms: number, signal: AbortSignal): Promise<void> {
    this.#waiting++;
    if (!this.#watching) void this.#watch();
    try {
      await super.wait(ms, signal);
    } finally {
      this.#waiting--;
    }
  }

  /** Wakes all, and leaves a blocking read that is under way. */
  end(): void {
    this.#leave();
    this.ring();
  }

  /** Never rejects: without it the readers still look once a second. */
  async #watch(): Promise<void> {
    this.#watching = true;
    try {
      while (this.#waiting > 0) {
        this.#connection ??= this.#connect();
        const from = this.#head;
        const reply = await this.#inTime(
          this.#connection.call(
            ...["XREAD", "COUNT", "1", "BLOCK", String(BLOCK_MS)] as const,
            ...["STREAMS", this.#stream, `${from}-0`],
          ),
        );
        const head = offsetOf(reply);
        // Asked again at once, a client that answers in a way of its own would be asked without end.
        if (reply !== null && head <= from) throw new Error("the blocking read gave no entry");
        if (head > this.#head) {
          this.#head = head;
          this.ring();
        }
      }
    } catch {
      // The connection is away, or was ended. Whoever waits next tries again.
    } finally {
      this.#watching = false;
    }
  }

  /** Waits for a reply, and no longer than it can take. */
  async #inTime(reply: Promise<unknown>): Promise<unknown> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const left = new Promise<never>((_, reject) => {
      this.#leave = () => reject(new Error("the blocking read did not end"));
      timer = setTimeout(this.#leave, GIVE_UP_MS);
    });
    try {
      return await Promise.race([reply, left]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The offset of the one entry in a reply to `XREAD`, as RESP2 or RESP3 tells it; 0 for none. */
function offsetOf(reply: unknown): number {
  const stream = Array.isArray(reply) ? reply[0] : values(reply);
  const entries = Array.isArray(stream) ? stream.at(-1) : null;
  const entry: unknown = Array.isArray(entries) ? entries[0] : null;
  const id: unknown = Array.isArray(entry) ? entry[0] : null;
  return typeof id === "string" ? Number.parseInt(id, 10) : 0;
}

function values(reply: unknown): unknown[] | null {
  return typeof reply === "object" && reply !== null ? Object.values(reply) : null;
}
