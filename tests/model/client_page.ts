/**
 * An application with a stream, over the life of one page: it does what the schedule has planned, and
 * notes each rule that the stream breaks.
 *
 * @module
 */
import type { LifecycleRecord } from "../../src/client/records.ts";
import { createStream } from "../../src/client/stream.ts";
import type {
  Frame,
  LoadedCursor,
  RevalidateContext,
  SavedCursor,
  Stream,
} from "../../src/client/types.ts";
import { createVersionMap } from "../../src/client/versions.ts";
import { type Piece, presentedOn } from "./client_hub.ts";
import { Memory } from "./client_memory.ts";
import type { Line } from "./client_network.ts";
import { Reasons } from "./client_reasons.ts";
import { type RunPlan, Runs } from "./client_runs.ts";
import type { Act, Call, Where } from "./client_schedule.ts";
import type { Surroundings } from "./client_world.ts";

/** What a store keeps: the cursor and, beside it, what the application knew at that moment. */
export interface Kept {
  readonly saved: SavedCursor;
  readonly memory: Memory;
}

/** The application. */
export class Page {
  readonly stream: Stream;
  /** What it knows; what of it is not kept is lost with the page. */
  readonly memory: Memory;
  /** Rules that were broken. */
  readonly faults: string[] = [];
  readonly #world: Surroundings;
  readonly #reasons: Reasons;
  readonly #versions = createVersionMap();
  readonly #plans = new Map<Where, (readonly Act[])[]>();
  readonly #runs: Runs;
  /** Loads of the store that have not answered, and saves. */
  readonly #store: (() => void)[] = [];
  /** How many of its own functions are being called: the stream is within a step of its own. */
  #inside = 0;
  /** Whether it stopped the stream: from then on nothing is brought any more. */
  #stopped = true;
  #starts = 0;
  /** Whether nothing at all may be called any more: stopped, and out of every call back. */
  #silent = true;
  /** It dropped the cursor: the next request presents none. */
  #forgot = false;
  /** The page is gone: whatever is still called is called in vain. */
  #gone = false;

  /**
   * @param world What surrounds it.
   * @param kept What a store has kept; `null` for a first visit.
   * @param stateKept Whether it takes its knowledge from the store, too.
   */
  constructor(world: Surroundings, kept: Kept | null, stateKept: boolean) {
    this.#world = world;
    this.memory = stateKept && kept !== null ? kept.memory.copy() : new Memory();
    this.#reasons = new Reasons(kept !== null && kept.saved.cursor !== "" && !stateKept);
    if (kept?.saved.unverified === true) this.#reasons.doubted();
    const { options, clock, network } = world;
    this.#runs = new Runs({
      clock,
      hub: world.hub,
      memory: this.memory,
      versions: this.#versions,
      reasons: this.#reasons,
      fault: (text) => this.#fault(text),
    });
    this.stream = createStream({
      url: options.ticketed
        ? () => {
          this.#called("url");
          return Promise.resolve("/events?ticket=1");
        }
        : "/events",
      presentCursor: options.presentCursor,
      versions: this.#versions,
      maxAttempts: options.maxAttempts,
      timing: { heldMaxFrames: options.heldMaxFrames },
      fetch: (input, init) => {
        // An address of before is asked for in vain, with a signal that says so.
        if (init?.signal?.aborted !== true) this.#called("fetch");
        return network.fetch(input, init);
      },
      clock,
      visibility: world.visibility,
      online: world.online,
      ...(options.store === "none" ? {} : {
        persist: {
          load: () => this.#load(kept, stateKept),
          save: (saved: SavedCursor) => this.#save(saved),
        },
      }),
      onFrame: (frame) => this.#within("frame", () => this.#onFrame(frame)),
      revalidate: (context) => this.#revalidate(context),
      onLifecycle: (record) => this.#within("lifecycle", () => this.#onLifecycle(record)),
      onLag: () => {
        this.#called("onLag");
        this.#within("lag", () => {});
      },
    });
  }

  /** It asks for a stream. */
  asked(line: Line): void {
    if (this.#forgot && presentedOn(line) !== null) this.#fault("a dropped cursor came back");
    this.#forgot = false;
  }

  /** The application does something to its stream. */
  call(call: Call): void {
    // What the application asks for is answered, whenever it asks.
    this.#silent = false;
    if (call === "start") {
      this.#stopped = false;
      this.#starts++;
    }
    if (call === "reset") this.#forgot = true;
    const calls: Record<Call, () => void> = {
      start: () => this.stream.start(),
      stop: () => this.stream.stop(),
      reconnect: () => this.stream.reconnect(),
      credentials: () => this.stream.credentialsChanged(),
      reset: () => this.stream.resetCursor(),
    };
    const starts = this.#starts;
    calls[call]();
    // What it hears of the stop may make it start again.
    if (call !== "stop" || this.#starts !== starts) return;
    this.#stopped = true;
    this.#silent = this.#inside === 0;
  }

  /** Its next call back of a kind will do something. */
  plan(where: Where, acts: readonly Act[]): void {
    // What a listener throws is the platform's to report: it would end the test.
    const may = where === "frame" || where === "revalidate";
    const plans = this.#plans.get(where) ?? [];
    plans.push(may ? acts : acts.filter((act) => act !== "throw"));
    this.#plans.set(where, plans);
  }

  /** How its revalidations go from now on. */
  planRuns(plan: RunPlan): void {
    this.#runs.plan(plan);
  }

  /** The oldest revalidation that waits ends. */
  settle(ok: boolean): void {
    this.#runs.settle(ok);
  }

  /** The store answers the oldest thing that it was asked, or the newest. */
  stored(newest: boolean): void {
    const answer = newest ? this.#store.pop() : this.#store.shift();
    answer?.();
  }

  /** The page is gone, and with it what it planned. */
  leave(): void {
    this.#gone = true;
    this.#plans.clear();
    this.stream.stop();
  }

  /** It behaves from now on. */
  calm(): void {
    this.#plans.clear();
    this.#runs.calm();
    while (this.#store.length > 0) this.stored(false);
  }

  /** The platform said something. */
  woken(cause: "visible" | "pageshow" | "online"): void {
    // A stopped stream does not listen.
    if (this.stream.state() !== "stopped") this.#reasons.woken(cause, this.#world.clock.now());
  }

  /** Whether a revalidation runs that was not aborted. */
  get revalidating(): boolean {
    return this.#runs.running;
  }

  /** Whether a wake has brought nothing. */
  get sleepy(): boolean {
    return this.#reasons.sleepy;
  }

  /** Whether the newest revalidation that ended was rejected. */
  get failed(): boolean {
    return this.#reasons.failed;
  }

  /** Looks after each step, when all that it began is done. */
  look(): void {
    this.#silent = this.#stopped;
    if (this.#stopped && this.stream.state() !== "stopped") this.#fault("stop() did not stop it");
  }

  #fault(text: string): void {
    if (!this.#gone) this.faults.push(text);
  }

  #called(what: string): void {
    if (this.#stopped) this.#fault(`${what} was called after stop()`);
  }

  #within(where: Where, work: () => void): void {
    if (this.#gone) return;
    this.#inside++;
    try {
      work();
      for (const act of this.#plans.get(where)?.shift() ?? []) {
        if (act === "throw") throw new Error("planned");
        this.call(act);
      }
    } finally {
      this.#inside--;
    }
  }

  #onFrame({ type, data, id }: Frame): void {
    this.#called("onFrame");
    if (this.revalidating) this.#fault(`${id ?? type} was delivered while a revalidation ran`);
    const throws = this.#plans.get("frame")?.[0]?.includes("throw") === true;
    if (throws) this.#reasons.doubted();
    if (id === null) {
      if (type !== "snap") return;
      const piece = JSON.parse(data) as Piece;
      if (!throws) this.memory.takePiece(piece);
      if (piece.piece === piece.of) this.#reasons.repaired(this.#world.clock.now());
      return;
    }
    const published = this.#world.hub.log.find((one) => one.id === id);
    if (published === undefined || published.data !== data || type !== "tick") {
      return this.#fault(`${id} was never published like this: ${JSON.stringify(data)}`);
    }
    const wrong = this.memory.hand(published.index);
    if (wrong !== "") this.#fault(wrong);
    const owed = this.#reasons.owed;
    if (owed !== "") this.#fault(`${id} was delivered before the revalidation for: ${owed}`);
    if (!throws) this.memory.take(published.index);
  }

  #revalidate(context: RevalidateContext): Promise<void> {
    if (this.#gone) return Promise.resolve();
    this.#called("revalidate");
    this.#world.count(`run ${context.cause}`);
    return this.#runs.begin(context, () => this.#within("revalidate", () => {}));
  }

  #onLifecycle(record: LifecycleRecord): void {
    this.#world.count(nameOf(record));
    if (this.#silent) this.#fault(`a record came after stop(): ${record.kind}`);
    if (record.kind === "hello") {
      const { hub } = this.#world;
      // What the connection will not bring: all before its cursor, or, not resumed, before its head.
      const end = record.resumed
        ? hub.coveredBy(this.stream.cursor())
        : hub.coveredBy(`${record.epoch}:${record.head}`);
      const unknown = record.repair ? -1 : this.memory.firstUnknown(end);
      this.#reasons.greeted(record, unknown);
    } else if (record.kind === "lag") {
      this.#reasons.lagged();
    } else if (record.kind === "disconnected") {
      this.#reasons.disconnected(record.reason);
    } else if (record.kind === "state" && record.from === "open") {
      this.#reasons.left();
    } else if (record.kind === "cursor_dropped") {
      this.#reasons.dropped();
    }
  }

  #load(kept: Kept | null, stateKept: boolean): LoadedCursor | null | Promise<LoadedCursor | null> {
    const loaded = kept === null ? null : { ...kept.saved, stateKept };
    if (this.#world.options.store === "prompt") return loaded;
    return new Promise((resolve) => this.#store.push(() => resolve(loaded)));
  }

  #save(saved: SavedCursor): void | Promise<void> {
    if (this.#gone) return;
    const end = this.#world.hub.coveredBy(saved.cursor);
    const unknown = saved.unverified ? -1 : this.memory.firstUnknown(end);
    if (unknown !== -1) {
      this.#fault(`${saved.cursor} was kept as verified, and frame ${unknown} is not known`);
    }
    this.#world.keep({ saved, memory: this.memory.copy() });
    if (this.#world.options.store === "prompt") return;
    return new Promise((resolve) => this.#store.push(() => resolve()));
  }
}

/** What a tally counts. */
function nameOf(record: LifecycleRecord): string {
  switch (record.kind) {
    case "hello":
      return `hello ${record.verdict}${record.repair ? " repair" : ""}`;
    case "state":
      return `state ${record.to}`;
    case "disconnected":
    case "connect_failed":
      return `${record.kind} ${record.reason}`;
    default:
      return record.kind;
  }
}
