/**
 * One connection of the hop, on the object's side: its way through the journal.
 *
 * *Live*, it is handed what was just stored; *catching up*, it reads what matches after its position, and
 * turns live in the turn in which that equals the head. Nothing is queued for it: all that must outlast
 * the object's memory is a handful of numbers, in the socket's attachment.
 *
 * @module
 */
import type { DepartureCause } from "../../../hub/presence.ts";
import { receives } from "../../../hub/topics.ts";
import { resetFrame, type ResetReason } from "../../../wire/control.ts";
import { formatCursor } from "../../../wire/cursor.ts";
import { encodeIdOnly } from "../../../wire/frame.ts";
import { HopHistories, type Past } from "./histories.ts";
import { HopOpening } from "./opening.ts";
import { Pump } from "./pump.ts";
import { HopReader } from "./reader.ts";
import { HopSender, type Standing } from "./sender.ts";
import type { HopRow } from "./table.ts";
import type { HopPort, HopSaved, HopSource, LiveEvent } from "./types.ts";
import type { Begin } from "./wire.ts";

/** One connection. */
export class HopConnection {
  readonly row: HopRow;
  readonly #source: HopSource;
  readonly #sender: HopSender;
  readonly #epoch: string;
  readonly #histories: HopHistories;
  readonly #reader: HopReader;
  #position: number;
  #live: boolean;
  readonly #opening: HopOpening;
  readonly #pump: Pump;
  #over = false;
  /** Whether it is to be told where it stands when it turns live. */
  #idDue = false;

  /**
   * @param source What it reads.
   * @param port Its socket.
   * @param row Who it is.
   * @param saved Where it stands.
   */
  constructor(source: HopSource, port: HopPort, row: HopRow, saved: HopSaved) {
    this.#source = source;
    this.row = row;
    this.#epoch = saved.epoch;
    this.#histories = new HopHistories(saved.histories, saved.epoch);
    this.#reader = new HopReader(source.journal, saved.epoch);
    this.#position = saved.position;
    // Where a past begins was still being found out: only the memory that is gone would have known.
    const lost = saved.histories.some(({ after }) => after === null);
    this.#opening = new HopOpening(saved.opening || lost);
    // A journal that cannot be read: its Worker comes back, and it is judged anew.
    this.#pump = new Pump(() => this.#step(), () => this.leave(true));
    // Nothing may have been stored since; if there was, it is not live yet.
    this.#live = saved.live && saved.position >= source.head && this.#histories.length === 0;
    this.#sender = new HopSender(port, saved, this.#standing);
  }

  /** Whether it has ended. */
  get over(): boolean {
    return this.#over;
  }

  /** Whether it is handed what was just stored. */
  get live(): boolean {
    return this.#live && !this.#over;
  }

  /** How many histories are still to be sent. */
  get histories(): number {
    return this.#histories.length;
  }

  /** Everything that is its, up to here, was sent. */
  get position(): number {
    return this.#live ? Math.max(this.#position, this.#source.head) : this.#position;
  }

  /** After this offset a topic that is subscribed now is received. */
  get head(): number {
    return Math.max(this.#position, this.#source.head);
  }

  /**
   * Begins.
   *
   * @param begin What the Worker must know.
   * @param first The frames that open the stream.
   * @param hook What comes before live frames, after everything up to `hookAt` was sent.
   * @param hookAt The offset.
   */
  begin(
    begin: Begin,
    first: Uint8Array,
    hook: (() => Promise<void>) | null,
    hookAt: number,
  ): void {
    if (hook !== null) this.#opening.begin(hook, hookAt);
    this.#idDue = true;
    this.#sender.say(begin);
    this.#send(first);
    this.pump();
  }

  /**
   * Goes on over this socket.
   *
   * @param begin What the Worker must know.
   */
  goOn(begin: Begin): void {
    this.#sender.say(begin);
    this.pump();
  }

  /**
   * Hears of what its client has taken.
   *
   * @param taken How many bytes in all.
   */
  ack(taken: number): void {
    this.#sender.ack(taken);
    this.#save();
    this.pump();
  }

  /**
   * Takes an event that was just stored.
   *
   * @param event The event.
   */
  offer(event: LiveEvent): void {
    const { topic, offset } = event.entry;
    if (!this.live || offset <= this.#position) return;
    if (!receives(this.row.topics, topic, offset)) return;
    if (this.#sender.room === 0) return this.#fallBehind(offset - 1);
    this.#position = offset;
    this.#sender.putLive(event);
    this.#save();
  }

  /**
   * Takes an event that nobody will miss later: who is behind does without.
   *
   * @param topic Its topic.
   * @param bytes Its frame.
   */
  offerEphemeral(topic: string, bytes: Uint8Array): void {
    if (!this.live || this.#sender.room === 0) return;
    if (receives(this.row.topics, topic, Infinity)) this.#send(bytes);
  }

  /** Tells a reader of quiet topics where it stands. */
  tell(): void {
    if (this.live && this.#sender.tell(this.#standing)) this.#save();
  }

  /** What comes next is not handed to those who are live: it is to look for itself, once it is pumped. */
  doubt(): void {
    if (this.#live) this.#fallBehind(this.position);
  }

  /**
   * Lets a topic's past come before anything else.
   *
   * @param topic The topic.
   * @param upTo Where it ends.
   */
  recall(topic: string, upTo: number): Past {
    if (this.#live) this.#fallBehind(this.position);
    const past = this.#histories.add(topic, upTo, () => this.#changed());
    if (!this.#over) this.#sender.promise(this.row.pasts);
    this.#save();
    return past;
  }

  /** @param topic Its past is not wanted any more. */
  forgo(topic: string): void {
    this.#histories.forgo(topic);
    this.#changed();
  }

  /**
   * Writes a frame of the application's own.
   *
   * @param bytes The frame.
   * @returns Settles when it was sent.
   * @throws {ConnectionGoneError} When the connection has ended.
   */
  write(bytes: Uint8Array): Promise<void> {
    return this.#sender.inTurn(() => this.#send(bytes));
  }

  /** @param at When its authority ends now, in milliseconds since the Unix epoch. */
  extend(at: number): void {
    // Over another socket it is begun anew, as long as this memory lasts from this row.
    this.row.expiresAt = at;
    this.#sender.say({ type: "expires", at: Number.isFinite(at) ? at : null });
  }

  /**
   * Ends it.
   *
   * @param reason Why, as its client is told; `null` without a word.
   * @param cause Why, as the application is told.
   */
  end(reason: ResetReason | null, cause: DepartureCause = "closed"): void {
    if (this.#over) return;
    if (reason !== null) this.#send(resetFrame(reason));
    this.#sender.say({ type: "end" });
    this.#close(false, reason === null ? cause : reason === "slow" ? "evicted" : "shutdown");
  }

  /**
   * Its socket is gone, or of no use any more.
   *
   * @param kept Whether its Worker may ask for it again.
   * @param cause Why it has ended, where it has.
   */
  leave(kept: boolean, cause: DepartureCause = "closed"): void {
    if (!this.#over) this.#close(kept, cause);
  }

  #close(kept: boolean, cause: DepartureCause): void {
    this.#over = true;
    this.#sender.close(kept, cause);
  }

  /** Sends what is owed, as far as the window allows. */
  pump(): void {
    if (!this.#over && !this.#live) this.#pump.run();
  }

  async #step(): Promise<boolean> {
    if (this.#over || this.#live) return false;
    if (this.#epoch !== this.#source.epoch || this.#opening.lost) {
      this.end("shutdown");
      return false;
    }
    if (this.#sender.room === 0) return false;
    const { at } = this.#opening;
    if (at !== null) {
      if (this.#position < at) return await this.#catchUp(at);
      this.#opening.run(() => this.#changed(), () => this.end(null, "hook_failed"));
      return false;
    }
    if (this.#histories.length > 0) return await this.#putHistory();
    if (this.#position < this.#source.head) return await this.#catchUp(this.#source.head);
    this.#live = true;
    if (this.#idDue) this.#send(encodeIdOnly(this.#cursor(this.position)));
    else this.tell();
    this.#idDue = false;
    return false;
  }

  /** What stands in the attachment is no longer so. */
  #changed(): void {
    this.#save();
    this.pump();
  }

  async #catchUp(upTo: number): Promise<boolean> {
    const span = { after: this.#position, upTo };
    const next = await this.#reader.next(span, this.row, this.#sender.room);
    if (this.#over) return false;
    if (typeof next === "string") {
      this.end(next);
      return false;
    }
    this.#position = next.through;
    if (next.bytes.length > 0) this.#send(next.bytes);
    return true;
  }

  async #putHistory(): Promise<boolean> {
    const next = await this.#histories.next(this.#reader, this.#sender.room);
    if (this.#over) return false;
    if (next === "broken") this.end("shutdown");
    if (typeof next === "string") return false;
    if (next.length > 0) this.#send(next);
    return true;
  }

  #cursor(offset: number): string {
    return formatCursor({ epoch: this.#epoch, offset });
  }

  #fallBehind(position: number): void {
    this.#live = false;
    this.#position = Math.max(this.#position, position);
    this.#save();
  }

  /** Whether a stream that breaks off now may go on, and from where. */
  get #standing(): Standing {
    const resumable = !this.#opening.open && this.#histories.length === 0;
    return { offset: this.position, resumable };
  }

  #send(bytes: Uint8Array): void {
    this.#sender.put(bytes, this.#standing);
    this.#save();
  }

  #save(): void {
    this.#sender.save({
      connection: this.row.connection,
      epoch: this.#epoch,
      position: this.#live ? this.#sender.told : this.#position,
      live: this.#live,
      opening: this.#opening.open,
      histories: this.#histories.saved,
    });
  }
}
