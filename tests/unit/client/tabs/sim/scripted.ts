/**
 * A host with a stream that does what a test says, and tabs that are nothing but what they send and
 * what they were sent.
 *
 * @module
 */
import type { LifecycleRecord } from "../../../../../src/client/records.ts";
import type {
  Frame,
  RevalidateContext,
  Stream,
  StreamOptions,
  StreamState,
} from "../../../../../src/client/types.ts";
import { Host } from "../../../../../src/client/worker/host.ts";
import { PROTOCOL, type ToHost, type ToTab } from "../../../../../src/client/worker/protocol.ts";
import type { WorkerHostOptions } from "../../../../../src/client/worker/types.ts";
import { Owner, settle, SimClock } from "./clock.ts";

/** A stream that notes what it is told. */
export class ScriptedStream implements Stream {
  readonly options: StreamOptions;
  readonly calls: string[] = [];
  at = "";
  where: StreamState = "stopped";
  /** Whether it reads its cursor first when it starts. */
  readonly lazy: boolean;

  constructor(options: StreamOptions, lazy: boolean) {
    this.options = options;
    this.lazy = lazy;
    for (const source of [options.visibility, options.online]) {
      source?.subscribe((signal: unknown) => this.calls.push(String(signal)));
    }
  }

  start(): void {
    this.calls.push("start");
    if (!this.lazy) this.move("connecting");
  }

  stop(): void {
    this.calls.push("stop");
    this.move("stopped");
  }

  reconnect(): void {
    if (this.where !== "stopped") this.calls.push("reconnect");
  }

  credentialsChanged(): void {
    this.calls.push("credentials");
  }

  state(): StreamState {
    return this.where;
  }

  cursor(): string {
    return this.at;
  }

  resetCursor(): void {
    this.calls.push("reset");
    this.at = "";
  }

  subscribe(): Promise<never> {
    return Promise.reject(new Error("not scripted"));
  }

  unsubscribe(): Promise<never> {
    return Promise.reject(new Error("not scripted"));
  }

  tell(record: LifecycleRecord): void {
    this.options.onLifecycle?.(record);
  }

  move(to: StreamState): void {
    const from = this.where;
    this.where = to;
    if (from !== to) this.tell({ kind: "state", from, to, generation: 1 });
  }

  /** It opens. */
  open(resumed = false): void {
    this.move("open");
    this.tell({
      kind: "hello",
      verdict: resumed ? "resumed" : "fresh",
      resumed,
      repair: false,
      wire: 1,
      epoch: EPOCH,
      floor: "0",
      head: "0",
      keepaliveMs: 15_000,
      generation: 1,
    });
  }

  /** Frames come, in one turn. */
  frames(...offsets: number[]): void {
    for (const offset of offsets) {
      this.options.onFrame(frameOf(offset));
      this.at = cursorOf(offset);
    }
  }

  /** It asks for a revalidation. */
  revalidate(given: Partial<RevalidateContext> = {}): Promise<void> {
    const { signal } = new AbortController();
    const context: RevalidateContext = {
      ...{ cause: "hello", epoch: EPOCH, generation: 1, full: false, topics: null, signal },
      ...given,
    };
    return Promise.resolve(this.options.revalidate?.(context));
  }
}

export const EPOCH = "00000000000000aa";
export const cursorOf = (offset: number): string => `${EPOCH}:${offset}`;
export const frameOf = (offset: number): Frame => ({
  type: "tick",
  data: String(offset),
  id: cursorOf(offset),
});

/** A tab that a test speaks for. */
export class PuppetTab {
  readonly id: string;
  readonly got: ToTab[] = [];
  readonly #receive: (data: unknown) => void;

  constructor(host: Host, id: string) {
    this.id = id;
    this.#receive = host.connect((message) => void this.got.push(message));
  }

  say(message: ToHost): void {
    this.#receive(message);
  }

  attach(given: Partial<Extract<ToHost, { kind: "attach" }>> = {}): void {
    this.say({
      ...{ kind: "attach", v: PROTOCOL, tab: this.id, cursor: "", start: true, repair: false },
      owed: false,
      ...{ visible: true, online: true, tag: "", url: "http://scripted/events" },
      ...given,
    });
  }

  beat(given: Partial<Extract<ToHost, { kind: "beat" }>> = {}): void {
    this.say({ kind: "beat", ack: 0, ask: false, visible: true, online: true, ...given });
  }

  answer(ask: number, given: Partial<Extract<ToHost, { kind: "answer" }>> = {}): void {
    this.say({ kind: "answer", ask, value: null, fault: null, ...given });
  }

  /** What it was sent of one kind. */
  all<K extends ToTab["kind"]>(kind: K): Extract<ToTab, { kind: K }>[] {
    return this.got.filter((message): message is Extract<ToTab, { kind: K }> =>
      message.kind === kind
    );
  }

  /** The last that it was sent of one kind. */
  last<K extends ToTab["kind"]>(kind: K): Extract<ToTab, { kind: K }> {
    const message = this.all(kind).at(-1);
    if (message === undefined) throw new Error(`no ${kind} was sent`);
    return message;
  }

  /** The kinds of the records it was sent. */
  get records(): string[] {
    return this.all("record").map(({ record }) => record.kind);
  }

  /** The data of the frames it was sent. */
  get frames(): string[] {
    return this.all("frames").flatMap(({ frames }) => frames.map(({ data }) => data));
  }
}

/** A host under a test's control. */
export class Stage {
  readonly clock = new SimClock();
  readonly owner = new Owner();
  readonly records: LifecycleRecord[] = [];
  readonly host: Host;
  readonly streams: ScriptedStream[] = [];
  #tabs = 0;

  constructor(options: WorkerHostOptions = {}, lazy = false) {
    this.host = new Host({
      clock: this.clock.of(this.owner),
      onLifecycle: (record) => void this.records.push(record),
      ...options,
    }, (stream) => {
      const scripted = new ScriptedStream(stream, lazy);
      this.streams.push(scripted);
      return scripted;
    });
  }

  /** The host's stream. */
  get stream(): ScriptedStream {
    const stream = this.streams[0];
    if (stream === undefined) throw new Error("there is no stream");
    return stream;
  }

  /** A tab that has attached, unless told not to. */
  tab(given?: Parameters<PuppetTab["attach"]>[0] | null): PuppetTab {
    const tab = new PuppetTab(this.host, `tab${++this.#tabs}`);
    if (given !== null) tab.attach(given);
    return tab;
  }

  /** Lets every promise that can settle do so. */
  settle(): Promise<void> {
    return settle();
  }

  /** Lets time pass, all tabs that are given showing signs of life. */
  async advance(ms: number, ...alive: PuppetTab[]): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      await this.clock.advance(Math.min(left, 1000));
      for (const tab of alive) tab.beat({ ack: Number.MAX_SAFE_INTEGER });
    }
  }
}
