/**
 * A hub of this wire as a client sees it: a history, verdicts, and the bytes of one connection.
 *
 * @module
 */
import {
  helloFrame,
  keepaliveFrame,
  lagFrames,
  resetFrame,
  type ResetReason,
  snapshotFrame,
} from "../../src/wire/control.ts";
import { type Cursor, formatCursor, parseCursor } from "../../src/wire/cursor.ts";
import { encodeComment, encodeFrame, encodeIdOnly, encodeRetry } from "../../src/wire/frame.ts";
import type { Hello, Verdict } from "../../src/wire/hello.ts";
import type { Line } from "./client_network.ts";

/** What a schedule varies of the hub. */
export interface HubOptions {
  /** How many frames it can replay. */
  readonly ring: number;
  /** How many of them one reply carries. */
  readonly budget: number;
  /** Whether it repairs with a snapshot what it cannot resume. */
  readonly repair: boolean;
  /** Over how long it wants revalidations spread. */
  readonly spreadMs: number;
  /** Its `retry:`. */
  readonly retryMs: number;
  /** Whether it writes ids alone. */
  readonly marks: boolean;
}

/** A frame that the client should get. */
export interface Published {
  /** How many frames there were before it, whatever the epoch. */
  readonly index: number;
  readonly id: string;
  readonly data: string;
}

/** One piece of a repair's snapshot: with all of them somebody knows all frames before `to`. */
export interface Piece {
  readonly snapshot: number;
  readonly piece: number;
  readonly of: number;
  readonly to: number;
}

interface Kept extends Published {
  readonly offset: number;
}

const PIECES = 2;
const KEEPALIVE_MS = 15_000;

/** The hub. */
export class ModelHub {
  /** Every frame that the client should get, in order, from all epochs. */
  readonly log: Kept[] = [];
  /** Of each epoch, how many frames there were before it. */
  readonly #epochs = new Map<string, number>();
  readonly #options: HubOptions;
  #epoch = "";
  #head = 0;
  /** The largest offset that it can no longer replay. */
  #evicted = 0;
  #ring: Kept[] = [];
  #snapshots = 0;
  /** The connection's bytes go here; frames that it was given, and how far it got. */
  #line: Line | undefined;
  #given: Uint8Array[] = [];
  #position = 0;
  /** What the newest connection was told. */
  hello: Hello | undefined;

  /** @param options What a schedule varies. */
  constructor(options: HubOptions) {
    this.#options = options;
    this.restart();
  }

  /** A new sequence: nobody's cursor is of it. */
  restart(): void {
    const number = this.#epochs.size + 1;
    this.#epoch = number.toString(16).padStart(16, "0");
    this.#epochs.set(this.#epoch, this.log.length);
    this.#head = this.#evicted = 0;
    this.#ring = [];
  }

  /** Publishes frames. Those that are not for the client only move the head. */
  publish(count: number, mine: boolean, size: number): void {
    for (let i = 0; i < count; i++) {
      const kept = this.#append(mine, size);
      if (kept === undefined || !this.#isOpen) continue;
      this.#give(kept);
      this.#position = kept.offset;
    }
  }

  /** A connection that is too slow: so many frames are published which it never gets, and it is told. */
  lag(count: number): void {
    if (!this.#isOpen) return;
    const from = this.#cursor(this.#position);
    for (let i = 0; i < count; i++) this.#append(true, 3);
    this.#position = this.#head;
    this.#line?.write(lagFrames({ missed: count, from, to: this.#cursor(this.#head) }));
  }

  /** Nothing that was published so far can be replayed any more. */
  evict(): void {
    this.#evicted = this.#ring.at(-1)?.offset ?? this.#evicted;
    this.#ring = [];
  }

  /** Answers a request with a stream. */
  accept(line: Line): void {
    if (line.phase !== "asked") return;
    line.respond(200, { "Content-Type": "text/event-stream; charset=utf-8" });
    const presented = presentedOn(line);
    const verdict = this.#judge(presented);
    const resumed = verdict === "resumed";
    const repair = this.#options.repair && !resumed && verdict !== "fresh";
    this.hello = {
      wire: 1,
      epoch: this.#epoch,
      floor: this.#ring[0]?.offset ?? 0,
      head: this.#head,
      resumed,
      verdict,
      keepaliveMs: KEEPALIVE_MS,
      keepaliveEvent: "sse:keepalive",
      repair,
      revalidateSpreadMs: this.#options.spreadMs,
    };
    this.#line = line;
    this.#given = [];
    line.write(encodeRetry(this.#options.retryMs));
    line.write(helloFrame(this.hello));
    if (repair) this.#repair(line);
    if (resumed) {
      const after = parseCursor(presented ?? "")?.offset ?? 0;
      for (const kept of this.#ring) if (kept.offset > after) this.#give(kept);
    }
    this.#position = this.#head;
    line.write(encodeFrame(null, "connected", "{}"));
    this.mark();
  }

  /** Says that it ends the connection, and does so once all that it wrote has gone through. */
  farewell(reason: ResetReason): void {
    if (!this.#isOpen || this.#line === undefined) return;
    this.#line.write(resetFrame(reason));
    this.#line.closing = true;
  }

  /** Writes frames again that this connection has been given. */
  repeat(count: number): void {
    if (this.#isOpen) { for (const bytes of this.#given.slice(-count)) this.#line?.write(bytes); }
  }

  /** An id alone. */
  mark(): void {
    if (!this.#isOpen || !this.#options.marks) return;
    this.#line?.write(encodeIdOnly(this.#cursor(this.#position)));
  }

  /** A keepalive, with an id alone before it. */
  keepalive(): void {
    if (!this.#isOpen) return;
    this.mark();
    this.#line?.write(keepaliveFrame("sse:keepalive"));
  }

  /** What this client does not know, and must ignore. */
  noise(): void {
    if (!this.#isOpen) return;
    this.#line?.write(encodeComment("noise"));
    this.#line?.write(encodeFrame(null, "sse:of-the-future", "{}"));
  }

  /** A mistake: two conversations on one connection. */
  greetAgain(): void {
    if (this.#isOpen && this.hello !== undefined) this.#line?.write(helloFrame(this.hello));
  }

  /** How many frames of the log a cursor covers. */
  coveredBy(text: string): number {
    const cursor = text === "" ? null : parseCursor(text);
    if (cursor === null) return 0;
    const epochs = [...this.#epochs.keys()];
    const from = this.#epochs.get(cursor.epoch) ?? 0;
    const next = epochs[epochs.indexOf(cursor.epoch) + 1] ?? "";
    const end = this.#epochs.get(next) ?? this.log.length;
    let count = from;
    while (count < end && (this.log[count]?.offset ?? Infinity) <= cursor.offset) count++;
    return count;
  }

  get #isOpen(): boolean {
    return this.#line?.phase === "flowing" && !this.#line.closing;
  }

  #cursor(offset: number): string {
    const cursor: Cursor = { epoch: this.#epoch, offset };
    return formatCursor(cursor);
  }

  #append(mine: boolean, size: number): Kept | undefined {
    const offset = ++this.#head;
    if (!mine) return undefined;
    const index = this.log.length;
    // A character of several bytes, and a line end: a cut may fall within both.
    const data = `${index}\n${"é".repeat(size)}`;
    const kept = { index, offset, id: this.#cursor(offset), data };
    this.log.push(kept);
    this.#ring.push(kept);
    const gone = this.#ring.length > this.#options.ring ? this.#ring.shift() : undefined;
    if (gone !== undefined) this.#evicted = gone.offset;
    return kept;
  }

  #give({ id, data }: Kept): void {
    const bytes = encodeFrame(id, "tick", data);
    this.#given.push(bytes);
    this.#line?.write(bytes);
  }

  #repair(line: Line): void {
    const snapshot = ++this.#snapshots;
    line.write(snapshotFrame("begin"));
    for (let piece = 1; piece <= PIECES; piece++) {
      const data: Piece = { snapshot, piece, of: PIECES, to: this.log.length };
      line.write(encodeFrame(null, "snap", JSON.stringify(data)));
    }
    line.write(snapshotFrame("end", String(this.#head)));
  }

  #judge(presented: string | null): Verdict {
    if (presented === null || presented === "") return "fresh";
    let cursor: Cursor | null;
    try {
      cursor = parseCursor(presented);
    } catch {
      return "cursor_invalid";
    }
    if (cursor?.epoch !== this.#epoch) return "epoch_changed";
    const { offset } = cursor;
    if (offset > this.#head) return "gap_ahead";
    if (offset < this.#evicted) return "gap_floor";
    const missed = this.#ring.filter((kept) => kept.offset > offset).length;
    return missed > this.#options.budget ? "gap_budget" : "resumed";
  }
}

/** The cursor that a request presents. */
export function presentedOn(line: Line): string | null {
  const query = new URLSearchParams(line.url.split("?")[1] ?? "");
  return line.headers.get("Last-Event-ID") ?? query.get("last_event_id");
}
