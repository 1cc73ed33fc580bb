/**
 * What a host brings a tab, in order: frames wait while the tab revalidates, and what was delivered
 * already is not delivered again.
 *
 * @module
 */
import { DigestStatusError } from "../../errors.ts";
import type { LifecycleRecord } from "../records.ts";
import type { ClientClock, Frame } from "../types.ts";
import type { ToTab } from "../worker/protocol.ts";
import { covers } from "./covers.ts";
import type { TabOptions, TabRevalidateContext } from "./types.ts";

/** A host's request to revalidate. */
export type RunRequest = Extract<ToTab, { readonly kind: "revalidate" }>;

/** What an inbox needs. */
export interface InboxOptions {
  /** The application's callbacks. */
  readonly app: Pick<TabOptions, "onFrame" | "revalidate">;
  /** Takes a record of this tab's own. */
  tell(record: LifecycleRecord): void;
  /** Time. */
  readonly clock: ClientClock;
  /** How long a revalidation may take. */
  readonly timeoutMs: number;
}

/** A request that was taken. */
export interface TakenRequest {
  /** The host has given it up. */
  abort(): void;
}

/**
 * What a tab owes itself.
 *
 * - `nothing`.
 * - `full`: its next revalidation must be a full one, for the host's version map does not know this
 *   tab's stamps.
 * - `now`: the same, and it is due as soon as the stream is open.
 */
type Debt = "nothing" | "full" | "now";

/** The inbox of one tab. */
export class Inbox {
  readonly #options: InboxOptions;
  readonly #tasks: (() => void)[] = [];
  #busy = false;
  #run: { abort(): void } | null = null;
  #cursor = "";
  /** The id of the last frame that was delivered. */
  #last = "";
  /** What this tab had got when its host began: a host that is behind brings some of it again. */
  #mark = "";
  #debt: Debt = "now";
  #open: { readonly epoch: string; readonly generation: number } | null = null;
  #closed = false;

  /** @param options What it needs. */
  constructor(options: InboxOptions) {
    this.#options = options;
  }

  /** Up to where everything was delivered, or is covered by a revalidation that is owed. */
  get cursor(): string {
    return this.#cursor;
  }

  /**
   * Takes frames.
   *
   * @param frames The frames.
   * @param delivered Called when all have been delivered.
   */
  frames(frames: readonly Frame[], delivered: () => void): void {
    this.#enqueue(() => {
      for (const frame of frames) if (!this.#closed) this.#deliver(frame);
      delivered();
    });
  }

  /**
   * Takes note of where the host stands.
   *
   * @param cursor What all frames so far have reached.
   */
  reached(cursor: string): void {
    this.#enqueue(() => {
      if (this.#mark === "" || !covers(this.#cursor, cursor)) this.#cursor = cursor;
    });
  }

  /**
   * A host begins: what follows goes on from its cursor.
   *
   * @param cursor The host's cursor.
   * @param known Whether it is the host as before, whose version map knows this tab's stamps.
   * @param missed Whether this tab has missed something that the cursor does not tell.
   */
  begin(cursor: string, known: boolean, missed: boolean): void {
    this.#enqueue(() => {
      const covered = covers(this.#cursor, cursor);
      this.#mark = covers(this.#cursor, this.#last) ? this.#cursor : this.#last;
      if (!covered) this.#cursor = cursor;
      if (missed || !covered) this.#debt = "now";
      else if (!known && this.#debt === "nothing") this.#debt = "full";
      this.#payDebt();
    });
  }

  /**
   * Takes note of the open connection, or that there is none.
   *
   * @param open Its epoch and generation.
   */
  opened(open: { readonly epoch: string; readonly generation: number } | null): void {
    this.#open = open;
  }

  /**
   * A connection begins.
   *
   * @param back Whether the server has lost its newest frames: it issues their numbers anew.
   * @param alone Whether no revalidation of all tabs follows: then this tab runs what it owes.
   */
  connected(back: boolean, alone: boolean): void {
    this.#enqueue(() => {
      if (back) this.#mark = "";
      if (alone) this.#payDebt();
    });
  }

  /**
   * Takes a host's request.
   *
   * @param request The request.
   * @param answer Called when the revalidation has ended, with the status of a refused digest.
   * @returns The request.
   */
  request(request: RunRequest, answer: (status: number | null) => void): TakenRequest {
    let abort: (() => void) | null = null;
    let aborted = false;
    this.#enqueue(() => {
      if (!aborted) abort = this.#start(request, answer);
    });
    return {
      abort: () => {
        aborted = true;
        abort?.();
      },
    };
  }

  /** What waits is lost: the host has given this tab up. */
  lose(): void {
    this.#tasks.length = 0;
    this.#debt = "now";
  }

  /** The page is being left: what runs is aborted, what waits is lost. */
  leave(): void {
    const owed = this.#debt === "now" || this.#run !== null;
    this.#tasks.length = 0;
    this.#open = null;
    this.#run?.abort();
    if (owed) this.#debt = "now";
  }

  /** Nothing is delivered any more. */
  close(): void {
    this.#closed = true;
    this.leave();
  }

  #enqueue(task: () => void): void {
    this.#tasks.push(task);
    if (!this.#busy) this.#pump();
  }

  #pump(): void {
    this.#busy = true;
    try {
      while (this.#run === null) {
        const task = this.#tasks.shift();
        if (task === undefined || this.#closed) return;
        task();
      }
    } finally {
      this.#busy = false;
    }
  }

  #deliver(frame: Frame): void {
    const { id, type } = frame;
    const { app, tell } = this.#options;
    if (id !== null) {
      if (this.#mark !== "" && covers(this.#mark, id)) {
        return tell({ kind: "duplicate_frame", type });
      }
      // Beyond the mark of its epoch: nothing comes again from here on.
      if (id.startsWith(this.#mark.slice(0, 17))) this.#mark = "";
      this.#last = this.#cursor = id;
    }
    try {
      app.onFrame(frame);
    } catch (error) {
      tell({ kind: "frame_rejected", type, error });
      this.#debt = "now";
      this.#enqueue(() => this.#payDebt());
    }
  }

  #payDebt(): void {
    const { app, tell, clock } = this.#options;
    if (this.#debt !== "now" || this.#open === null) return;
    if (app.revalidate === undefined) return void (this.#debt = "nothing");
    const cause = "hello";
    const began = clock.now();
    tell({ kind: "revalidate", cause, full: true, spreadMs: 0 });
    const alone = { topics: null, changed: null, removed: null };
    this.#start({ ...this.#open, ...alone, cause, full: true }, (_, ok) => {
      if (ok) tell({ kind: "revalidated", cause, tookMs: clock.now() - began });
    });
  }

  /** Starts a revalidation, which holds everything until it has settled, or its time is up. */
  #start(
    request: Omit<RunRequest, "kind" | "run">,
    answer: (status: number | null, ok: boolean) => void,
  ): () => void {
    const { app, tell, clock, timeoutMs } = this.#options;
    const { cause, epoch, generation, topics, changed, removed } = request;
    const debt = this.#debt;
    const clear = debt === "nothing";
    const full = request.full || !clear;
    const controller = new AbortController();
    let answered = false;
    const say = (status: number | null, ok: boolean): void => {
      if (!answered) answer(status, ok);
      answered = true;
    };
    const abort = (): void => {
      if (controller.signal.aborted || this.#run !== run) return;
      // The host runs another one, if one is needed.
      if (this.#debt === "nothing") this.#debt = debt;
      controller.abort();
      say(null, false);
    };
    const run = { abort };
    const release = (): void => {
      if (this.#run !== run) return;
      this.#run = null;
      cancel();
      if (!this.#busy) this.#pump();
    };
    const fail = (record: LifecycleRecord, status: number | null): void => {
      if (this.#run !== run || controller.signal.aborted) return;
      this.#debt = "now";
      tell(record);
      say(status, false);
    };
    let cancel = clock.after(timeoutMs, () => {
      fail({ kind: "revalidate_timeout", cause }, null);
      controller.abort();
      // Two never run at once, unless one does not even heed its signal.
      cancel = clock.after(timeoutMs, release);
    });
    this.#run = run;
    this.#debt = "nothing";
    const context: TabRevalidateContext = {
      cause,
      epoch,
      generation,
      full,
      topics: clear ? topics : null,
      changed: full ? null : changed,
      removed: full ? null : removed,
      signal: controller.signal,
    };
    // Within a promise, so that what it throws at once is a rejection, too.
    new Promise<void>((resolve) => resolve(app.revalidate?.(context))).then(
      () => {
        if (!controller.signal.aborted) say(null, true);
        release();
      },
      (error) => {
        const status = error instanceof DigestStatusError ? error.status : null;
        fail({ kind: "revalidate_failed", cause, error }, status);
        release();
      },
    );
    return abort;
  }
}
