/**
 * A connection: one stream, from its opening to its farewell, at the pace of its socket.
 *
 * @module
 */
import { ConnectionGoneError } from "../errors.ts";
import { joinBytes } from "../wire/frame.ts";
import type { ConnectionHome, Identity } from "./connection_home.ts";
import { Farewell } from "./farewell.ts";
import { Feed } from "./feed.ts";
import { MAX_CHUNK_BYTES } from "./joiner.ts";
import { Outbox } from "./outbox.ts";
import { Outlet } from "./outlet.ts";
import type { DepartureCause, FailedWrite } from "./presence.ts";
import type { Frame } from "./ring.ts";
import type { Peer, Sink } from "./sink.ts";
import type { Judgement } from "./verdict.ts";

/**
 * How far the opening has come. `replay`: what was missed goes out. `hook`: the application's frames
 * come next. `hooking`: it writes them, and live frames wait. `flow`: live frames go out.
 */
type Stage = "replay" | "hook" | "hooking" | "flow";

/** One stream. */
export class Connection implements Peer {
  /** Who it is. */
  readonly identity: Identity;
  /** How its cursor was judged. */
  readonly judgement: Judgement;
  readonly #home: ConnectionHome;
  readonly #outlet = new Outlet();
  readonly #outbox = new Outbox();
  readonly #feed: Feed;
  readonly #farewell = new Farewell();
  readonly #maySkip: boolean;
  /** Whether a flush is on its way. */
  #woken = false;
  #greeted = false;
  #stage: Stage;
  #hook: (() => Promise<void>) | null;
  #keepaliveDue = false;
  #idDue = true;
  #writing: FailedWrite = "frame";
  /** Since when bytes have waited and none was taken, on the monotonic clock. */
  #waitingSince: number | null;
  /** Whether the runtime said that the socket is gone. */
  #gone = false;
  #ended: DepartureCause | null = null;

  /**
   * @param home Its hub.
   * @param identity Who it is.
   * @param judgement How its cursor was judged.
   * @param opening The bytes it starts with: `retry:` and the hello.
   * @param hook Writes the application's frames, once hello and replay were handed over.
   */
  constructor(
    home: ConnectionHome,
    identity: Identity,
    judgement: Judgement,
    opening: Uint8Array,
    hook: (() => Promise<void>) | null,
  ) {
    this.#home = home;
    this.identity = identity;
    this.judgement = judgement;
    this.#maySkip = home.settings.slow === "lag" && identity.declaresLag;
    this.#feed = new Feed(home, identity.topics, this.#maySkip, judgement);
    this.#hook = hook;
    this.#outbox.push(opening);
    this.#stage = this.#feed.catching ? "replay" : hook === null ? "flow" : "hook";
    this.#waitingSince = home.settings.clock.monotonic();
  }

  /** How many frames are queued for it. */
  get queued(): number {
    return this.#feed.queued;
  }

  attach(sink: Sink): void {
    this.#outlet.attach(sink);
  }

  ready(): void {
    this.#outlet.ask();
    this.#waitingSince = null;
    this.#pump();
  }

  left(): void {
    this.#gone = true;
    this.#fail("closed");
  }

  failed(): void {
    this.#gone = true;
    this.#fail("dead", this.#writing);
  }

  /**
   * Takes a frame that this connection listens to.
   *
   * @param frame The frame, just published.
   */
  offer(frame: Frame): void {
    if (this.#over) return;
    const outcome = this.#feed.offer(frame, this.#taking);
    if (outcome === "full") return this.#fallBehind(1);
    if (outcome === "passed" || this.#woken) return;
    this.#woken = true;
    this.#home.wake(this);
  }

  /** Hands over what waits, if the runtime takes it. */
  flush(): void {
    this.#woken = false;
    if (this.#outlet.ready) this.#pump();
    else this.#wait();
  }

  /** Owes the peer a keepalive. At most one waits. */
  beat(): void {
    if (this.#over) return;
    this.#keepaliveDue = true;
    this.flush();
  }

  /**
   * Ends the connection when its peer has stopped taking, and applies the slow policy when its queue
   * has been over the bound for too long.
   *
   * @param now The monotonic time.
   */
  check(now: number): void {
    // A hook that runs into a shutdown may still wait for a peer that has stopped.
    if (this.#over && this.#stage !== "hooking") return;
    if (!this.#over && this.#feed.overdue(now)) return this.#fallBehind(0);
    const waited = now - (this.#waitingSince ?? now);
    if (waited >= this.#home.settings.writeTimeoutMs) this.#fail("dead", this.#waitingWrite());
  }

  /** Ends the connection in good order and without a word: the application wants it so. */
  close(): void {
    this.#end("closed");
  }

  /** Sends what is owed, says goodbye, and ends; bounded by a running hook and the write timeout. */
  shutdown(): void {
    if (this.#over) return;
    this.#farewell.reason = "shutdown";
    this.#hook = null;
    if (this.#stage === "hook") this.#stage = "flow";
    if (this.#stage !== "hooking") this.#startFarewell();
  }

  /**
   * Writes a frame of the application's own.
   *
   * @param bytes The encoded frame.
   * @returns Settles when the runtime has taken it.
   * @throws {ConnectionGoneError} When the connection ends first.
   */
  write(bytes: Uint8Array): Promise<void> {
    const gone = this.#ended ?? (this.#farewell.reason === "slow" ? "evicted" : null);
    if (gone !== null) return Promise.reject(new ConnectionGoneError(gone));
    const written = this.#outbox.promise(bytes);
    this.flush();
    return written;
  }

  #pump(): void {
    if (!this.#outlet.pump(this.#take, this.#sent)) this.failed();
    if (!this.#outlet.ready) this.#wait();
  }

  /** The next chunk; `null` when there is none. */
  readonly #take = (): Uint8Array | null => {
    const rest = this.#outbox.next();
    if (rest !== null) return rest;
    const flowing = this.#stage === "flow" && !this.#feed.catching;
    if (flowing && this.#outbox.empty && !this.#keepaliveDue && !this.#idDue) {
      // The way of nearly every chunk: frames only, joined once for all who wait for the same.
      if (this.#feed.queued === 0) return this.#goodbye();
      this.#writing = "frame";
      return this.#outbox.cut(this.#home.joiner.join(this.#feed.dequeue()));
    }
    const parts: Uint8Array[] = [];
    this.#writing = this.#waitingWrite();
    const room = this.#outbox.moveTo(parts, MAX_CHUNK_BYTES);
    if (this.#keepaliveDue && room > 0) {
      if (flowing && this.#feed.queued === 0) this.#putId(parts);
      parts.push(this.#home.keepalive);
      this.#keepaliveDue = false;
    }
    if (room > 0) this.#putFrames(parts, room);
    return parts.length === 0 ? this.#goodbye() : this.#outbox.cut(joinBytes(parts));
  };

  #putFrames(parts: Uint8Array[], room: number): void {
    if (this.#stage === "hook" || this.#stage === "hooking") return;
    this.#feed.put(parts, room);
    if (this.#feed.lost) return this.#evict();
    if (this.#feed.waiting) return;
    if (this.#stage === "replay") this.#stage = this.#hook === null ? "flow" : "hook";
    if (this.#stage === "flow" && this.#idDue) this.#putId(parts);
  }

  /** Tells a reader of quiet topics where it stands: nothing before the head is still to come. */
  #putId(parts: Uint8Array[]): void {
    parts.push(this.#home.log.idOnly());
    this.#idDue = false;
  }

  /** What follows from the runtime having taken a chunk. */
  readonly #sent = (): void => {
    this.#outbox.taken();
    // A sink may have told within its write that the peer has left.
    if (this.#ended !== null) return;
    if (!this.#greeted) {
      this.#greeted = true;
      this.#home.arrived(this);
    }
    if (this.#farewell.said && !this.#outbox.midFrame) this.#end(this.#farewell.cause);
    else if (this.#stage === "hook" && this.#outbox.empty) this.#runHook();
  };

  #wait(): void {
    if (this.#ended !== null) return;
    const { turn } = this.#home;
    if (this.#feed.over) this.#feed.noteOver(turn.now());
    if (this.#waitingSince === null && this.#hasOffer()) this.#waitingSince = turn.now();
  }

  /** Whether bytes wait for the peer, rather than for a hook. */
  #hasOffer(): boolean {
    if (!this.#outbox.empty || this.#keepaliveDue) return true;
    const held = this.#stage === "hook" || this.#stage === "hooking";
    return !held && this.#feed.waiting;
  }

  #waitingWrite(): FailedWrite {
    if (this.#outbox.hasPromise) return "hook";
    return !this.#outbox.empty || this.#feed.waiting ? "frame" : "keepalive";
  }

  #runHook(): void {
    this.#stage = "hooking";
    this.#hook?.().then(() => this.#hookDone(true), () => this.#hookDone(false));
  }

  #hookDone(well: boolean): void {
    if (this.#ended !== null || this.#stage !== "hooking") return;
    if (!well) return this.#end("hook_failed");
    this.#stage = "flow";
    if (this.#farewell.reason !== null) this.#startFarewell();
    else this.flush();
  }

  /** A peer that takes a chunk now is not slow: what its queue had no place for the log may hold. */
  #fallBehind(owed: number): void {
    if (this.#maySkip || this.#taking) this.#feed.fallBehind(owed);
    else this.#evict();
  }

  /** Leaves the fan-out and frees the queue at once; the farewell has 250 ms. */
  #evict(): void {
    this.#farewell.reason ??= "slow";
    this.#stage = "flow";
    this.#feed.clear();
    this.#outbox.clear(() => new ConnectionGoneError("evicted"), !this.#greeted);
    this.#keepaliveDue = false;
    this.#idDue = false;
    this.#home.left(this);
    this.#startFarewell();
  }

  #startFarewell(): void {
    this.#farewell.start(this.#home.settings, () => this.#fail("dead"));
    // Not at once: this may be in the midst of a fan-out, and a write may call back.
    this.#home.wake(this);
  }

  #goodbye(): Uint8Array | null {
    return this.#stage === "flow" ? this.#farewell.say() : null;
  }

  /** Whether it would hand over a frame at once: nothing but its own turn keeps it waiting. */
  get #taking(): boolean {
    return this.#outlet.ready && this.#stage === "flow";
  }

  /** Whether it has ended, or is about to. */
  get #over(): boolean {
    return this.#farewell.reason !== null || this.#ended !== null;
  }

  /** Ends a stream whose peer takes nothing more; a goodbye that was on its way failed then. */
  #fail(cause: DepartureCause, write?: FailedWrite): void {
    if (this.#farewell.reason === null) this.#end(cause, write);
    else this.#end(this.#farewell.cause, "reset");
  }

  #end(cause: DepartureCause, write?: FailedWrite): void {
    if (this.#ended !== null) return;
    this.#ended = cause;
    this.#farewell.cancel();
    this.#feed.clear();
    this.#outbox.clear(() => new ConnectionGoneError(cause));
    this.#home.left(this);
    const closed = this.#outlet.close(write === undefined && !this.#outbox.midFrame);
    const abandoned = closed.abandoned && !this.#gone;
    this.#home.departed(this, { ...closed, cause, write, greeted: this.#greeted, abandoned });
  }
}
