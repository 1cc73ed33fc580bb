/**
 * A server of frames, and a stream on it that keeps to the contract of `createStream`: what a host is
 * tested with.
 *
 * @module
 */
import type { LifecycleRecord } from "../../../../../src/client/records.ts";
import type {
  Frame,
  RevalidateCause,
  Stream,
  StreamOptions,
  StreamState,
} from "../../../../../src/client/types.ts";
import { parseCursor } from "../../../../../src/wire/cursor.ts";
import type { Owner, SimClock } from "./clock.ts";

/** The server. */
export class SimServer {
  readonly clock: SimClock;
  readonly streams = new Set<SimStream>();
  #epochs = 1;
  head = 0;
  /** The newest offset that it cannot replay any more. */
  floor = 0;
  /** How many connections were ever opened. */
  connects = 0;
  /** The status with which connections are refused; 0: they are not. */
  refuses = 0;

  /** @param clock The world's clock. */
  constructor(clock: SimClock) {
    this.clock = clock;
  }

  get epoch(): string {
    return this.#epochs.toString(16).padStart(16, "0");
  }

  /** How many streams have a connection. */
  get open(): number {
    return [...this.streams].filter((stream) => stream.connected && !stream.owner.dead).length;
  }

  cursor(offset: number): string {
    return `${this.epoch}:${offset}`;
  }

  frame(offset: number): Frame {
    return { type: "tick", data: String(offset), id: this.cursor(offset) };
  }

  publish(count = 1): void {
    for (let i = 0; i < count; i++) {
      const frame = this.frame(++this.head);
      for (const stream of this.streams) stream.push(frame);
    }
  }

  /** Forgets what it could replay. */
  trim(): void {
    this.floor = this.head;
  }

  restart(): void {
    this.#epochs++;
    this.head = this.floor = 0;
    this.cut();
  }

  cut(): void {
    for (const stream of this.streams) stream.cut();
  }
}

/** A stream on it. */
export class SimStream implements Stream {
  readonly owner: Owner;
  readonly options: StreamOptions;
  readonly #server: SimServer;
  #state: StreamState = "stopped";
  #cursor = "";
  #generation = 0;
  /** Invalidates what belongs to an earlier connection. */
  #turn = 0;
  #held: Frame[] | null = null;
  #run: AbortController | null = null;
  #next: RevalidateCause | null = null;
  #unverified = false;
  #loaded = false;
  #unwatch: (() => void)[] = [];
  /** What was presented at each attempt. */
  readonly attempts: { url: string; headers: Record<string, string>; cursor: string }[] = [];

  constructor(options: StreamOptions, server: SimServer, owner: Owner) {
    this.options = options;
    this.#server = server;
    this.owner = owner;
    server.streams.add(this);
  }

  get connected(): boolean {
    return this.#state === "open";
  }

  start(): void {
    if (this.#state !== "stopped") return;
    const { visibility, online } = this.options;
    if (visibility === undefined || online === undefined) throw new Error("sources are missing");
    this.#unwatch = [
      visibility.subscribe((signal) => this.#seen(signal === "visible")),
      online.subscribe((up) => {
        if (up) this.#connect();
        else this.#drop("offline");
      }),
    ];
    this.#connect();
    if (visibility.hidden()) this.#seen(false);
  }

  stop(): void {
    for (const stop of this.#unwatch.splice(0)) stop();
    this.#drop("stopped");
  }

  reconnect(): void {
    if (this.#state === "stopped") return;
    this.#drop("connecting");
    this.#connect();
  }

  credentialsChanged(): void {
    if (this.#state !== "open") this.reconnect();
  }

  state(): StreamState {
    return this.#state;
  }

  cursor(): string {
    return this.#cursor;
  }

  resetCursor(): void {
    this.#cursor = "";
    this.reconnect();
  }

  subscribe(): Promise<never> {
    return Promise.reject(new Error("not simulated"));
  }

  unsubscribe(): Promise<never> {
    return Promise.reject(new Error("not simulated"));
  }

  /** A frame goes over the network. */
  push(frame: Frame): void {
    const turn = this.#turn;
    if (this.#state !== "open") return;
    this.#server.clock.post(this.owner, () => {
      if (turn === this.#turn) this.#arrived(frame);
    }, 2);
  }

  /** The connection is cut. */
  cut(): void {
    if (this.#state !== "open") return;
    this.#drop("backoff");
    this.#later(1000);
  }

  /** The server says that frames were lost. */
  lag(): void {
    if (this.#state !== "open") return;
    const to = this.#server.cursor(this.#server.head);
    // What is on its way is what was lost.
    const turn = ++this.#turn;
    this.#server.clock.post(this.owner, () => {
      if (turn !== this.#turn) return;
      this.#cursor = to;
      this.#unverified = true;
      this.tell({ kind: "lag", missed: null });
      void this.#revalidate("lag", null);
    }, 2);
  }

  tell(record: LifecycleRecord): void {
    this.options.onLifecycle?.(record);
  }

  #move(to: StreamState): void {
    const from = this.#state;
    if (from === to) return;
    this.#state = to;
    this.tell({ kind: "state", from, to, generation: this.#generation });
  }

  #drop(to: StreamState): void {
    this.#turn++;
    this.#held = null;
    if (this.#run !== null) this.#unverified = true;
    this.#run?.abort();
    this.#run = this.#next = null;
    this.#move(to);
  }

  #seen(visible: boolean): void {
    if (this.#state === "stopped") return;
    if (!visible) {
      this.#server.clock.of(this.owner).after(60_000, () => {
        if (this.options.visibility?.hidden() && this.#state !== "stopped") {
          this.#drop("hidden_closed");
        }
      });
    } else if (this.#state === "open") void this.#revalidate("visible", null);
    else this.#connect();
  }

  #later(ms: number): void {
    const turn = this.#turn;
    this.#server.clock.of(this.owner).after(ms, () => {
      if (turn === this.#turn) this.#connect();
    });
  }

  #connect(): void {
    if (this.#state === "open") return;
    this.#turn++;
    this.#generation++;
    void this.#attempt(this.#turn);
    if (this.#loaded || this.options.persist === undefined) this.#move("connecting");
  }

  async #attempt(turn: number): Promise<void> {
    const { url, headers, persist } = this.options;
    if (!this.#loaded && persist !== undefined) {
      const loaded = await persist.load();
      this.#loaded = true;
      if (loaded !== null) this.#cursor = loaded.cursor;
      if (turn !== this.#turn) return;
      this.#move("connecting");
    }
    this.#server.connects++;
    const { signal } = new AbortController();
    let failed = this.#server.refuses !== 0;
    try {
      const address = typeof url === "function" ? await url({ attempt: 0, signal }) : url;
      const read = typeof headers === "function" ? await headers() : headers;
      this.attempts.push({ url: String(address), headers: { ...read }, cursor: this.#cursor });
    } catch {
      failed = true;
    }
    if (turn !== this.#turn) return;
    if (failed) {
      this.#drop("backoff");
      return this.#later(1000);
    }
    this.#server.clock.post(this.owner, () => {
      if (turn === this.#turn) this.#greeted();
    }, 5);
  }

  #greeted(): void {
    const server = this.#server;
    const at = parseCursor(this.#cursor);
    const resumed = at !== null && at.epoch === server.epoch && at.offset >= server.floor &&
      at.offset <= server.head;
    const verdict = resumed ? "resumed" : at === null ? "fresh" : "gap_floor";
    const { epoch, head } = server;
    this.#move("open");
    this.tell({
      kind: "hello",
      verdict,
      resumed,
      repair: false,
      wire: 1,
      epoch,
      floor: String(server.floor),
      head: String(head),
      keepaliveMs: 15_000,
      generation: this.#generation,
    });
    if (resumed) {
      for (let offset = at.offset + 1; offset <= head; offset++) this.push(server.frame(offset));
    }
    if (!resumed || this.#unverified) {
      void this.#revalidate("hello", resumed ? null : server.cursor(head));
    }
  }

  #arrived(frame: Frame): void {
    if (this.#held !== null) this.#held.push(frame);
    else this.#deliver(frame);
  }

  #deliver(frame: Frame): void {
    this.options.onFrame(frame);
    if (frame.id !== null) this.#cursor = frame.id;
  }

  async #revalidate(cause: RevalidateCause, adopt: string | null): Promise<void> {
    if (this.#run !== null) {
      // One more, for what this one cannot cover; until then everything is held.
      this.#next ??= cause;
      return;
    }
    const run = this.#run = new AbortController();
    this.#held ??= [];
    this.tell({ kind: "revalidate", cause, full: false, spreadMs: 0 });
    let ok = true;
    const epoch = this.#server.epoch;
    const clock = this.#server.clock.of(this.owner);
    const late = clock.after(30_000, () => {
      if (this.#run !== run) return;
      this.#unverified = true;
      this.tell({ kind: "revalidate_timeout", cause });
      this.#drop("backoff");
      this.#later(1000);
    });
    try {
      const { signal } = run;
      const generation = this.#generation;
      await this.options.revalidate?.({
        cause,
        epoch,
        generation,
        full: false,
        topics: null,
        signal,
      });
    } catch (error) {
      ok = false;
      if (this.#run === run) this.tell({ kind: "revalidate_failed", cause, error });
    }
    late();
    if (this.#run !== run) return;
    this.#run = null;
    this.#unverified = !ok;
    if (adopt !== null && this.#next !== "lag") this.#cursor = adopt;
    if (ok) this.tell({ kind: "revalidated", cause, tookMs: 0 });
    const next = this.#next;
    this.#next = null;
    if (next !== null) return this.#revalidate(next, null);
    const held = this.#held ?? [];
    this.#held = null;
    for (const frame of held) this.#deliver(frame);
  }
}
