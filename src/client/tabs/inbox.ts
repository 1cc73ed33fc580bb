/**
 * What a host brings a tab, in order: frames wait while the tab revalidates, and what was delivered
 * already is not delivered again.
 *
 * @module
 */
import type { LifecycleRecord } from "../records.ts";
import type { ClientClock, Frame } from "../types.ts";
import type { ToTab } from "../worker/protocol.ts";
import { covers } from "../worker/covers.ts";
import type { TabOptions } from "./types.ts";

/** A host's request to revalidate. */
export type RunRequest = Extract<ToTab, { readonly kind: "revalidate" }>;

/** How a revalidation failed. */
export interface Failure {
  /** What it threw, or why it was aborted. */
  readonly error: unknown;
}

/** Why a revalidation is aborted whose time is up. */
const LATE = Symbol("late");

/** What an inbox needs. */
export interface InboxOptions {
  /** The application's callbacks, and what it begins with. */
  readonly app: Pick<TabOptions, "cursor" | "onFrame" | "revalidate">;
  /** Takes a record of this tab's own. */
  tell(record: LifecycleRecord): void;
  /** Time. */
  readonly clock: ClientClock;
  /** How long a revalidation may take. */
  readonly timeoutMs: number;
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
  /** The revalidation that runs: everything waits for it. */
  #run: AbortController | null = null;
  #cursor: string;
  /** The id of the last frame that was delivered. */
  #last = "";
  /** What this tab had got when its host began: a host that is behind brings some of it again. */
  #mark = "";
  #debt: Debt;
  #open: { readonly epoch: string; readonly generation: number } | null = null;
  #closed = false;

  /** @param options What it needs. */
  constructor(options: InboxOptions) {
    const { cursor = "" } = options.app;
    this.#options = options;
    this.#cursor = cursor;
    this.#debt = cursor === "" ? "now" : "nothing";
  }

  /** Up to where everything was delivered, or is covered by a revalidation that is owed. */
  get cursor(): string {
    return this.#cursor;
  }

  /** Whether a full revalidation is due, or under way. */
  get owing(): boolean {
    return this.#debt === "now" || this.#run !== null;
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
   * @param controller Aborts it, when the host gives it up.
   * @param ended Called when the revalidation has ended, with how it failed, or `null`.
   */
  request(
    request: RunRequest,
    controller: AbortController,
    ended: (failure: Failure | null) => void,
  ): void {
    this.#enqueue(() => {
      if (!controller.signal.aborted) void this.#start(request, controller, ended);
    });
  }

  /** What waits is lost: the host has given this tab up. */
  lose(): void {
    this.#tasks.length = 0;
    this.#debt = "now";
  }

  /** The page is being left: what runs is aborted, what waits is lost. */
  leave(): void {
    const owed = this.owing;
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
    const alone = { topics: null, changed: null, removed: null, full: true, cause } as const;
    void this.#start({ ...this.#open, ...alone }, new AbortController(), (failure) => {
      if (failure === null) tell({ kind: "revalidated", cause, tookMs: clock.now() - began });
    });
  }

  async #start(
    { cause, epoch, generation, full, topics, changed, removed }: Omit<RunRequest, "kind" | "ask">,
    controller: AbortController,
    ended: (failure: Failure | null) => void,
  ): Promise<void> {
    const { app, tell, clock, timeoutMs } = this.#options;
    const { signal } = controller;
    const debt = this.#debt;
    const owed = debt !== "nothing";
    const listed = full || owed ? { changed: null, removed: null } : { changed, removed };
    this.#run = controller;
    this.#debt = "nothing";
    const aborted = new Promise<Failure>((resolve) =>
      signal.addEventListener("abort", () => resolve({ error: signal.reason }))
    );
    // Within a promise, so that what it throws at once is a rejection, too.
    const settled = new Promise<void>((resolve) =>
      resolve(
        app.revalidate?.({
          ...{ cause, epoch, generation, signal, ...listed },
          full: full || owed,
          topics: owed ? null : topics,
        }),
      )
    ).then(() => null, (error): Failure => ({ error }));
    let cancel = clock.after(timeoutMs, () => controller.abort(LATE));
    const failure = await Promise.race([settled, aborted]);
    cancel();
    if (failure !== null && signal.aborted && failure.error !== LATE) {
      // Given up by the host, which runs another one if one is needed.
      if (this.#debt === "nothing") this.#debt = debt;
    } else if (failure !== null) {
      this.#debt = "now";
      const { error } = failure;
      tell(
        error === LATE
          ? { kind: "revalidate_timeout", cause }
          : { kind: "revalidate_failed", cause, error },
      );
    }
    ended(failure);
    // Two never run at once, unless one does not even heed its signal.
    if (signal.aborted) {
      const patience = new Promise<void>((resolve) => cancel = clock.after(timeoutMs, resolve));
      await Promise.race([settled, patience]);
      cancel();
    }
    this.#run = null;
    if (!this.#busy) this.#pump();
  }
}
