/**
 * When connections' authority ends.
 *
 * @module
 */
import { expiringFrame } from "../wire/control.ts";
import type { Clock, Timer } from "./clock.ts";

/** How long before its end a client is told, in milliseconds. */
const NOTICE_MS = 60_000;

/** How often it is looked, in milliseconds: so late may an end come. */
const LOOK_MS = 250;

/** What is ended. */
export interface Expiring {
  /** Whether it has begun and not ended: only then it can be told something. */
  readonly open: boolean;
  /** Writes a frame. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends it. */
  close(): void;
}

/** One timer for all connections whose authority ends at some time. */
export class Expirations {
  readonly #clock: Clock;
  /** By connection, its end on the monotonic clock, and whether it was told. */
  readonly #ends = new Map<Expiring, { readonly end: number; told: boolean }>();
  #timer: Timer | null = null;

  /** @param clock The clock. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Sets when a connection ends. It is told anew.
   *
   * @param connection The connection.
   * @param expiresAt When, in milliseconds since the Unix epoch; `Infinity` for never.
   */
  set(connection: Expiring, expiresAt: number): void {
    if (expiresAt === Infinity) return this.delete(connection);
    const left = expiresAt - this.#clock.now();
    this.#ends.set(connection, { end: this.#clock.monotonic() + left, told: false });
    this.#timer ??= this.#clock.every(LOOK_MS, () => this.#look());
  }

  /**
   * Forgets a connection.
   *
   * @param connection The connection; one without an end does no harm.
   */
  delete(connection: Expiring): void {
    this.#ends.delete(connection);
    if (this.#ends.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #look(): void {
    const now = this.#clock.monotonic();
    for (const [connection, entry] of this.#ends) {
      if (now >= entry.end) {
        this.delete(connection);
        connection.close();
      } else if (!entry.told && connection.open && entry.end - now <= NOTICE_MS) {
        entry.told = true;
        connection.write(expiringFrame(Math.ceil(entry.end - now))).catch(() => {});
      }
    }
  }
}

/**
 * Checks when an authority ends.
 *
 * @param expiresAt What the application passed.
 * @returns It; `Infinity` for never.
 * @throws {TypeError} When it is no time.
 */
export function checkExpiry(expiresAt: number = Infinity): number {
  if (typeof expiresAt === "number" && expiresAt > 0) return expiresAt;
  throw new TypeError(
    `Cannot use expiresAt: it is ${
      String(expiresAt)
    }, it must be milliseconds since the Unix epoch`,
  );
}
