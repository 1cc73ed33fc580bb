/**
 * What carries a stream's effects out. It decides nothing: whatever happens goes to the machine, and
 * what the machine asks for is done here, in order.
 *
 * @module
 */
import { CursorError } from "../errors.ts";
import { formatCursor, readCursor } from "../wire/cursor.ts";
import { type Acknowledger, createAcknowledger } from "./alive.ts";
import { notify } from "./notify.ts";
import type { ResolvedOptions } from "./options.ts";
import type { LifecycleRecord } from "./records.ts";
import { INITIAL, type MachineState } from "./machine.ts";
import { deadline, reduce } from "./reducer.ts";
import { createSaver, type Saver } from "./saver.ts";
import type { Effect, MachineConfig, StreamEvent } from "./step.ts";
import { Subscriptions } from "./subscriptions.ts";
import { type Attempt, type AttemptOptions, startAttempt } from "./transport.ts";
import type { RevalidateContext } from "./types.ts";

/** What the library itself may set, beyond the application's options. */
export type Internals = Pick<AttemptOptions, "ready">;

/** The runtime of one stream. */
export class Runtime {
  readonly #options: ResolvedOptions;
  readonly #config: MachineConfig;
  readonly #internals: Internals;
  readonly #alive: Acknowledger | null;
  readonly #saver: Saver | null;
  readonly subscriptions: Subscriptions;
  #state: MachineState = INITIAL;
  readonly #queue: StreamEvent[] = [];
  #busy = false;
  #attempt: Attempt | null = null;
  #run: { readonly id: number; readonly controller: AbortController } | null = null;
  #timer: { readonly at: number; cancel(): void } | null = null;
  /** Ends the subscriptions to the page's and the network's readers; `null` while stopped. */
  #unwatch: (() => void) | null = null;
  #starts = 0;
  /** Which start waits for the cursor to be loaded; 0 when none does. */
  #loading = 0;
  #loaded = false;
  /** How often it was stopped: a step that stops the stream midway goes no further. */
  #stops = 0;
  /** The topics of the URL for which the cursor was earned. */
  #topics: ReadonlySet<string> | null = null;

  /**
   * Makes the runtime of a stream that is not started.
   *
   * @param options The application's options.
   * @param internals The library's.
   */
  constructor(options: ResolvedOptions, internals: Internals = {}) {
    this.#options = options;
    this.#internals = internals;
    const { alive, maxAttempts, persist, revalidate, timing } = options;
    this.#config = { ...timing, maxAttempts, revalidates: revalidate !== undefined };
    const report = (record: LifecycleRecord): void => this.#tell(record);
    this.#alive = alive === undefined ? null : createAcknowledger(alive, options, report);
    this.#saver = persist === undefined
      ? null
      : createSaver(persist, (error) => report({ kind: "persist_failed", action: "save", error }));
    this.subscriptions = new Subscriptions({
      stream: options,
      report,
      gap: (topic) =>
        this.dispatch({ type: "topic_gap", generation: this.#state.link.generation, topic }),
    });
  }

  /** Where the stream stands. */
  get state(): MachineState {
    return this.#state;
  }

  /** Starts the stream: watches the page and the network, loads the cursor once, and connects. */
  start(): void {
    if (this.#unwatch !== null) return;
    const { visibility, online, versions } = this.#options;
    const stopWatching = [
      visibility.subscribe((signal) => {
        // A page that slept may have missed the network's coming or going.
        if (signal !== "pagehide") this.#readOnline();
        this.dispatch({ type: signal });
        if (signal === "pagehide") this.#saver?.flush();
      }),
      online.subscribe((up) => this.dispatch({ type: up ? "online" : "offline" })),
      versions?.onStale((subject, epoch) => this.#tell({ kind: "stale_stamp", subject, epoch })),
    ];
    const unwatch = (): void => stopWatching.forEach((stop) => stop?.());
    this.dispatch({ type: visibility.hidden() ? "hidden" : "visible" });
    this.#readOnline();
    this.#unwatch = unwatch;
    if (this.#loaded || this.#options.persist === undefined) {
      return this.dispatch({ type: "start" });
    }
    const start = this.#loading = ++this.#starts;
    void this.#load().then((restored) => {
      // Stopped meanwhile; and a store that answers late must not bring a cursor of before back.
      if (this.#loading !== start) return;
      // Unless the application has dropped the cursor before it was known.
      if (restored !== null && !this.#loaded) this.dispatch(restored);
      this.#loaded = true;
      this.#loading = 0;
      this.dispatch({ type: "start" });
    });
  }

  /** Stops the stream, at once: whatever was still to be done for the application is not. */
  stop(): void {
    this.#loading = 0;
    this.#stops++;
    // Who has settled must be known: the next revalidation waits for it. And what was dropped, is.
    const left = this.#queue.filter(({ type }) => type === "settled" || type === "drop_cursor");
    this.#queue.splice(0, this.#queue.length, ...left);
    // Here, too: while its cursor is still being loaded the machine has not begun.
    this.#rest();
    if (this.#busy) this.#step({ type: "stop" });
    else this.dispatch({ type: "stop" });
  }

  /** Forgets the cursor, one that is still being loaded too. */
  drop(): void {
    if (!this.#loaded) this.#saver?.put({ cursor: "", unverified: false });
    this.#loaded = true;
    this.dispatch({ type: "drop_cursor", reason: "application" });
  }

  /** Nobody needs to tell a stopped stream anything. */
  #rest(): void {
    this.#unwatch?.();
    this.#unwatch = null;
    this.subscriptions.stopped();
  }

  /**
   * Takes note of what happened. What happens meanwhile waits for its turn, so that no step ever
   * begins within another.
   *
   * @param event What happened.
   */
  dispatch(event: StreamEvent): void {
    this.#queue.push(event);
    if (this.#busy) return;
    this.#busy = true;
    const before = this.#state.delivery;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        this.#step(next);
      }
    } finally {
      this.#busy = false;
    }
    const { cursor, unverified } = this.#state.delivery;
    if (this.#saver !== null && (cursor !== before.cursor || unverified !== before.unverified)) {
      this.#saver.put({ cursor: cursor === null ? "" : formatCursor(cursor), unverified });
    }
    this.#arm();
  }

  #readOnline(): void {
    const online = this.#options.online.online();
    if (online !== this.#state.link.online) this.dispatch({ type: online ? "online" : "offline" });
  }

  #step(event: StreamEvent): void {
    const { clock, versions } = this.#options;
    const [state, effects] = reduce(this.#state, event, {
      now: clock.now(),
      rand: clock.random(),
      blank: versions === undefined || versions.size === 0,
      config: this.#config,
    });
    const ended = state.link.kind === "stopped" && this.#state.link.kind !== "stopped";
    this.#state = state;
    // Before anybody hears of it, for whoever does may start it again.
    if (ended) this.#rest();
    const stops = this.#stops;
    for (const effect of effects) {
      // Stopped midway, by the application: only what ends something is still done.
      const ends = effect.type === "abort" || effect.type === "abort_run";
      if (this.#stops === stops || ends) this.#execute(effect);
    }
    if (event.type === "hello" && this.#state.link.kind === "open") {
      this.subscriptions.opened(event.hello, event.presented);
    }
  }

  #execute(effect: Effect): void {
    switch (effect.type) {
      case "connect":
        return this.#connect(effect);
      case "abort":
        this.#attempt?.abort();
        this.#attempt = null;
        this.#alive?.stop();
        return this.subscriptions.closed();
      case "deliver": {
        const { delivery } = effect;
        const ok = this.#deliver(delivery.frame);
        // Before whatever the application asked for meanwhile: a reconnection presents the cursor.
        this.#queue.unshift({ type: "delivered", delivery, ok });
        return;
      }
      case "revalidate":
        return this.#revalidate(effect);
      case "abort_run":
        if (this.#run?.id === effect.run) this.#run.controller.abort();
        // The application stopped the stream before the run was handed to it.
        else this.dispatch({ type: "settled", run: effect.run, ok: false, error: undefined });
        return;
      case "tell_lag":
        return notify(() => this.#options.onLag?.(effect.lag));
      case "record":
        return this.#tell(effect.record);
    }
  }

  #connect({ generation, attempt, cursor }: Extract<Effect, { type: "connect" }>): void {
    const { versions } = this.#options;
    this.#attempt = startAttempt({
      ...this.#internals,
      generation,
      attempt,
      stream: this.#options,
      presented: cursor,
      covers: (topics) => this.#covers(topics),
      bind: ({ versionEpoch, epoch }) => versions?.bind(versionEpoch ?? epoch) ?? false,
      report: (event) => this.dispatch(event),
      tell: (record) => this.#tell(record),
      keepalive: () => this.#alive?.beat(),
      history: (phase, topic) => this.subscriptions.history(phase, topic),
    });
  }

  /** A cursor proves nothing about topics that were not there when it was earned. */
  #covers(topics: ReadonlySet<string>): boolean {
    const earned = this.#topics;
    this.#topics = topics;
    const { cursor } = this.#state.delivery;
    if (earned === null || cursor === null) return true;
    // No topic means every topic: then nothing can be added.
    if (earned.size === 0 || (topics.size > 0 && [...topics].every((topic) => earned.has(topic)))) {
      return true;
    }
    this.dispatch({ type: "drop_cursor", reason: "topics_grew" });
    return false;
  }

  #deliver(frame: Parameters<ResolvedOptions["onFrame"]>[0]): boolean {
    try {
      this.#options.onFrame(frame);
      return true;
    } catch (error) {
      this.#tell({ kind: "frame_rejected", type: frame.type, error });
      return false;
    }
  }

  #revalidate({ run, cause, full, topics }: Extract<Effect, { type: "revalidate" }>): void {
    const settle = (ok: boolean, error: unknown): void =>
      this.dispatch({ type: "settled", run, ok, error });
    if (this.#options.revalidate === undefined) return settle(true, undefined);
    const controller = new AbortController();
    this.#run = { id: run, controller };
    const { generation } = this.#state.link;
    const epoch = this.#state.delivery.open?.epoch ?? "";
    const { signal } = controller;
    const context: RevalidateContext = { cause, epoch, generation, full, topics, signal };
    // Within a promise, so that what it throws at once is a rejection, too.
    void new Promise<void>((resolve) => resolve(this.#options.revalidate?.(context)))
      .then(() => settle(true, undefined), (error) => settle(false, error));
  }

  async #load(): Promise<Extract<StreamEvent, { type: "restored" }> | null> {
    try {
      const loaded = await this.#options.persist?.load() ?? null;
      if (loaded === null) return null;
      const { cursor, unverified, stateKept = false } = loaded;
      const parsed = readCursor(cursor);
      if (parsed === null && cursor !== "") throw new CursorError("the store holds another text");
      return { type: "restored", cursor: parsed, unverified: unverified === true, stateKept };
    } catch (error) {
      this.#tell({ kind: "persist_failed", action: "load", error });
      return null;
    }
  }

  #tell(record: LifecycleRecord): void {
    notify(() => this.#options.onLifecycle?.(record));
  }

  /** One timer, which may ring early: setting it anew for each byte would cost more than a ring. */
  #arm(): void {
    const due = deadline(this.#state, this.#config);
    if (due === Infinity) {
      this.#timer?.cancel();
      this.#timer = null;
      return;
    }
    if (this.#timer !== null && this.#timer.at <= due) return;
    this.#timer?.cancel();
    const { clock } = this.#options;
    const cancel = clock.after(Math.max(0, due - clock.now()), () => {
      this.#timer = null;
      this.dispatch({ type: "tick" });
    });
    this.#timer = { at: due, cancel };
  }
}
