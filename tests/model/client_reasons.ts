/**
 * Why a revalidation may run, and why one must: kept beside a stream, from what its application can
 * see of it.
 *
 * @module
 */
import type { Disconnect, LifecycleRecord } from "../../src/client/records.ts";
import type { RevalidateCause, RevalidateContext } from "../../src/client/types.ts";

type Hello = Extract<LifecycleRecord, { readonly kind: "hello" }>;
/** A wake joins a run that began so shortly before. */
const JOIN_MS = 1000;

type Wake = "visible" | "pageshow" | "online";

/** The reasons of one page. */
export class Reasons {
  /** What has come up since a revalidation last began. */
  #fresh = new Set<RevalidateCause>();
  /** What had come up then: it may have waited behind one that was due and had not begun. */
  #before: ReadonlySet<RevalidateCause> = new Set();
  /** How many reasons there have been, and how many revalidations. */
  #reasons = 0;
  #runs = 0;
  /**
   * Whether the cursor came from a store, and the application's state did not. It holds until a run
   * succeeds; after one that was rejected it may: the connection may have been over before.
   */
  #restored: "yes" | "maybe" | "no";
  /** What it was before the newest run ended. */
  #restoredBefore: "yes" | "maybe" | "no" = "no";
  /** Something is missing which no connection will bring: no frame may come before a revalidation. */
  #owed = "";
  /** The next run has to be a full one. */
  #full = false;
  #failed = false;
  #wokenAt = -Infinity;
  /** When the newest run began that ended well. */
  #goodSince = -Infinity;

  /** @param restored Whether the page has a cursor and not the state it stands for. */
  constructor(restored: boolean) {
    this.#restored = restored ? "yes" : "no";
    if (restored) this.#reason("restored");
  }

  /** What has to be brought by a revalidation before any frame; `""` when nothing. */
  get owed(): string {
    return this.#owed;
  }

  /** Whether the newest revalidation that ended was rejected: what it was for is still owed. */
  get failed(): boolean {
    return this.#failed;
  }

  /** The platform said something. */
  woken(cause: Wake, now: number): void {
    this.#reason(cause);
    this.#wokenAt = now;
  }

  /** Whether somebody woke the page up, and nothing was brought since, or in the second before. */
  get sleepy(): boolean {
    return this.#goodSince < this.#wokenAt - JOIN_MS;
  }

  /** Frames were lost. */
  lagged(): void {
    this.#reason("lag");
  }

  /** A frame was not taken in, or a store says that something is owed. */
  doubted(): void {
    this.#reason("hello");
  }

  /**
   * A connection opened.
   *
   * @param hello What it was told.
   * @param unknown A frame that it will not bring, and that is not known; -1 when there is none.
   */
  greeted(hello: Hello, unknown: number): void {
    if (!hello.resumed && !hello.repair) this.#reason("hello");
    this.#owed = unknown === -1 ? "" : `frame ${unknown}, ${hello.verdict}`;
  }

  /** A snapshot is whole: it stands for the state that was not restored. */
  repaired(now: number): void {
    this.#restored = "no";
    this.#full = false;
    this.#goodSince = now;
  }

  /** An open stream ended by itself. */
  disconnected(reason: Disconnect): void {
    if (reason === "held_overflow") this.#full = true;
    if (reason === "held_overflow" || reason === "repair_timeout") this.#reason("hello");
  }

  /** A connection is over. What was wanted on it is owed by the next one. */
  left(): void {
    this.#owed = "";
    if (this.#fresh.size > 0) this.#reason("hello");
    // Or it waited behind the run that began last, and has been counted.
    else if (this.#before.size > 0) this.#fresh.add("hello");
  }

  /** The cursor was dropped: whoever has none is greeted anew. */
  dropped(): void {
    this.#restored = "no";
  }

  /**
   * A revalidation begins.
   *
   * @param context What it is told.
   * @returns What is wrong with it; `""` when nothing is.
   */
  began({ cause, full }: RevalidateContext): string {
    this.#runs++;
    this.#owed = "";
    const known = [...this.#fresh, ...this.#before].join(", ");
    // While it waited for one of before, a lag may have come: what is graver is said.
    const unrestored = this.#restored === "yes";
    const other = unrestored && cause !== "restored" && cause !== "lag";
    const wrong = other
      ? `the state was not restored, and the cause is ${cause}`
      : unrestored && !full
      ? "the state was not restored, and the run is not full"
      : !this.#fresh.has(cause) && !this.#before.has(cause)
      ? `a revalidation for ${cause}: there was ${known === "" ? "nothing" : known}`
      : this.#full && !full
      ? "the run after too many held frames is not full"
      : this.#runs > this.#reasons
      ? `${this.#runs} revalidations for ${this.#reasons} reasons`
      : "";
    this.#before = this.#fresh;
    this.#fresh = new Set();
    this.#full = false;
    return wrong;
  }

  /**
   * It ended, and was not aborted.
   *
   * @param ok Whether it was fulfilled.
   * @param since When it began.
   */
  ended(ok: boolean, since: number): void {
    if (ok) this.#goodSince = since;
    this.#restoredBefore = this.#restored;
    if (ok) this.#restored = "no";
    else if (this.#restored !== "no") {
      this.#restored = "maybe";
      this.#fresh.add("restored");
    }
    this.#failed = !ok;
    if (!ok) this.#reason("hello");
  }

  /**
   * It was aborted.
   *
   * @param settled Whether it had just ended: the stream has not heard of that.
   */
  aborted(settled: boolean): void {
    if (settled && this.#restoredBefore !== "no") this.#restored = "maybe";
    this.#reason("hello");
    if (this.#restored !== "no") this.#reason("restored");
  }

  #reason(cause: RevalidateCause): void {
    this.#reasons++;
    this.#fresh.add(cause);
  }
}
