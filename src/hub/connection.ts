/**
 * A connection: one stream, from its opening to its farewell, at the pace of its socket.
 *
 * @module
 */
import { ConnectionGoneError } from "../errors.ts";
import type { CatchUpEnd } from "./catch_up.ts";
import { ChunkMaker } from "./chunk_maker.ts";
import type { ConnectionHome, Identity } from "./connection_home.ts";
import { Farewell } from "./farewell.ts";
import { Feed } from "./feed.ts";
import { type Opening, type Stage, stageAfterHello } from "./opening.ts";
import { Outbox } from "./outbox.ts";
import { Outlet } from "./outlet.ts";
import type { DepartureCause, FailedWrite } from "./presence.ts";
import type { Frame } from "./ring.ts";
import type { Peer, Sink } from "./sink.ts";
import type { Topics } from "./topics.ts";
import type { Judgement } from "./verdict.ts";

/** One stream. */
export class Connection implements Peer {
  /** Who it is. */
  readonly identity: Identity;
  /** Its frames. Whoever changes what they are calls {@linkcode flush} afterwards. */
  readonly feed: Feed;
  readonly #home: ConnectionHome;
  readonly #outlet = new Outlet();
  readonly #outbox = new Outbox();
  readonly #chunks: ChunkMaker;
  readonly #farewell = new Farewell();
  readonly #maySkip: boolean;
  /** Whether a flush is on its way. */
  #woken = false;
  #greeted = false;
  #stage: Stage = "judging";
  #hook: (() => Promise<void>) | null = null;
  #judgement: Judgement | null = null;
  /** Since when bytes have waited and none was taken, on the monotonic clock. */
  #waitingSince: number | null;
  /** Whether the runtime said that the socket is gone. */
  #gone = false;
  #ended: DepartureCause | null = null;

  /**
   * Makes a connection that waits for {@linkcode open}.
   *
   * @param home Its hub.
   * @param identity Who it is.
   * @param first The bytes that it starts with, whatever comes: `retry:`.
   */
  constructor(home: ConnectionHome, identity: Identity, first: Uint8Array) {
    this.#home = home;
    this.identity = identity;
    this.#maySkip = home.settings.slow === "lag" && identity.declaresLag;
    this.feed = new Feed(home, identity.topics, this.#maySkip, () => this.flush());
    this.#chunks = new ChunkMaker(home, this.feed, this.#outbox, {
      caughtUp: () => this.#caughtUp(),
      stopped: (end) => this.#stopped(end),
    });
    this.#outbox.push(first);
    this.#waitingSince = home.settings.clock.monotonic();
  }

  /** How its cursor was judged; `null` while it is not. */
  get judgement(): Judgement | null {
    return this.#judgement;
  }

  /** What it listens to; `null` for everything. */
  get topics(): Topics {
    return this.identity.topics;
  }

  /** Whether it is open, and not about to end. */
  get open(): boolean {
    return this.#judgement !== null && !this.over;
  }

  /**
   * Lets it begin: from this turn on it misses nothing after the judgement's position.
   *
   * @param opening What it begins with.
   */
  begin(opening: Opening): void {
    if (this.over) return;
    const { judgement, hello, hook, histories } = opening;
    const { topics } = this.identity;
    // Up to here the past is the replay's affair, or a history's.
    for (const topic of topics?.keys() ?? []) topics?.set(topic, judgement.position);
    this.#judgement = judgement;
    this.feed.start(judgement);
    this.#outbox.push(hello);
    this.#hook = hook;
    this.#stage = stageAfterHello(opening);
    for (const history of histories) this.feed.recall(history);
    this.flush();
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
    this.#fail("dead", this.#chunks.writing);
  }

  /**
   * Takes a frame that this connection listens to.
   *
   * @param frame The frame, just published.
   */
  offer(frame: Frame): void {
    if (this.over) {
      // A goodbye is not put off for it: no id alone may cover it, then, and no hole be told without it.
      if (frame.offset !== 0) this.#chunks.clear();
      return this.feed.pass(frame);
    }
    const outcome = this.feed.offer(frame, this.#taking);
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

  /** Owes the peer a keepalive. At most one waits; none comes before the hello. */
  beat(): void {
    if (this.over || this.#stage === "judging") return;
    this.#chunks.keepaliveDue = true;
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
    if (this.over && this.#stage !== "hooking") return;
    if (!this.over && this.feed.overdue(now)) return this.#fallBehind(0);
    const waited = now - (this.#waitingSince ?? now);
    if (waited >= this.#home.settings.writeTimeoutMs) this.#fail("dead", this.#chunks.waiting);
  }

  /** Ends the connection in good order and without a word: the application wants it so. */
  close(): void {
    this.#end("closed");
  }

  /** Sends what is owed, says goodbye, and ends; bounded by a running hook and the write timeout. */
  shutdown(): void {
    if (this.over) return;
    if (this.#stage === "judging") return this.turnAway(); // Nobody can say what it is owed.
    this.#farewell.reason = "shutdown";
    this.#hook = null;
    if (this.#stage === "hook") this.#stage = "flow";
    if (this.#stage !== "hooking") this.#startFarewell();
  }

  /** Sends the peer away, with nothing more of what it is owed: it comes back and is judged anew. */
  turnAway(): void {
    if (this.over) return;
    this.feed.clear();
    // Nor where the hub stands: with that it would believe to have had what it is owed.
    this.#chunks.clear();
    if (this.#stage === "judging") this.#stage = "flow";
    this.shutdown();
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
    // A replay that gives nothing now waits for the journal; a goodbye does not.
    return this.#chunks.next(this.#stage) ??
      (this.#stage === "flow" || this.#stage === "replay" ? this.#farewell.say() : null);
  };

  #caughtUp(): Stage {
    if (this.#stage === "replay") this.#stage = this.#hook === null ? "flow" : "hook";
    return this.#stage;
  }

  #stopped(end: CatchUpEnd): void {
    if (end === "lost") return this.#evict();
    this.#home.metrics.turnedAway();
    this.turnAway();
  }

  /** What follows from the runtime having taken a chunk. */
  readonly #sent = (): void => {
    this.#outbox.taken();
    // A sink may have told within its write that the peer has left.
    if (this.#ended !== null) return;
    if (!this.#greeted && this.#judgement !== null) {
      this.#greeted = true;
      this.#home.arrived(this);
    }
    if (this.#farewell.said && !this.#outbox.midFrame) this.#end(this.#farewell.cause);
    else if (this.#stage === "hook" && this.#outbox.empty) this.#runHook();
  };

  #wait(): void {
    if (this.#ended !== null) return;
    const { turn } = this.#home;
    if (this.feed.over) this.feed.noteOver(turn.now());
    if (this.#waitingSince === null && this.#hasOffer()) this.#waitingSince = turn.now();
  }

  /** Whether bytes wait for the peer, rather than for a hook. */
  #hasOffer(): boolean {
    if (!this.#outbox.empty || this.#chunks.keepaliveDue) return true;
    const gives = this.#stage === "replay" || this.#stage === "flow";
    return gives && this.feed.waiting && !this.feed.reading;
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
  #fallBehind(owed: 0 | 1): void {
    if (this.#maySkip || this.#taking) this.feed.fallBehind(owed);
    else this.#evict();
  }

  /** Leaves the fan-out and frees the queue at once; the farewell has 250 ms. */
  #evict(): void {
    this.#farewell.reason ??= "slow";
    this.#stage = "flow";
    this.feed.clear();
    this.#outbox.clear(() => new ConnectionGoneError("evicted"), !this.#greeted);
    this.#chunks.clear();
    this.#home.left(this);
    this.#startFarewell();
  }

  #startFarewell(): void {
    this.#farewell.start(this.#home.settings, () => this.#fail("dead"));
    // Not at once: this may be in the midst of a fan-out, and a write may call back.
    this.#home.wake(this);
  }

  /** Whether it would hand over a frame at once: nothing but its own turn keeps it waiting. */
  get #taking(): boolean {
    return this.#outlet.ready && this.#stage === "flow";
  }

  /** Whether it has ended, or is about to. */
  get over(): boolean {
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
    this.feed.clear();
    this.#outbox.clear(() => new ConnectionGoneError(cause));
    this.#home.left(this);
    const closed = this.#outlet.close(write === undefined && !this.#outbox.midFrame);
    const abandoned = closed.abandoned && !this.#gone;
    this.#home.departed(this, { ...closed, cause, write, greeted: this.#greeted, abandoned });
  }
}
