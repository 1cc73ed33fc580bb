/**
 * The host of a profile's one stream, wherever it runs: in a SharedWorker, in the page of a leading
 * tab, or in the page of a tab that is on its own.
 *
 * @module
 */
import { DigestStatusError } from "../../errors.ts";
import { platformClock } from "../clock.ts";
import { notify } from "../notify.ts";
import type { LifecycleRecord } from "../records.ts";
import { resolveTiming } from "../timing.ts";
import type {
  ClientClock,
  Frame,
  HeadersSource,
  RevalidateContext,
  Stream,
  StreamOptions,
  StreamState,
  StreamUrl,
} from "../types.ts";
import { Asks } from "./asks.ts";
import { Audience } from "./audience.ts";
import { followDoubt } from "./doubt.ts";
import { Fanout } from "./fanout.ts";
import { makeId, type PlainHeaders, readToHost, type ToHost, type ToTab } from "./protocol.ts";
import { heard, isSilent } from "./pulse.ts";
import { Rounds } from "./rounds.ts";
import type { Tab } from "./tab.ts";
import type { HostTabs, WorkerHostOptions } from "./types.ts";

/** Makes the stream: a host is tested with a scripted one. */
export type MakeStream = (options: StreamOptions) => Stream;

type Attach = Extract<ToHost, { readonly kind: "attach" }>;

/** The host. */
export class Host {
  /** Which life of the host this is: a worker that was restarted has another. */
  readonly boot: string;
  readonly #options: WorkerHostOptions;
  readonly #makeStream: MakeStream;
  readonly #clock: ClientClock;
  readonly #beatMs: number;
  readonly #tabs = new Map<string, Tab>();
  readonly #audience = new Audience();
  readonly #fanout: Fanout;
  readonly #rounds = new Rounds(this.#tabs);
  readonly #asks: Asks;
  #stream: Stream | null = null;
  /** What the stream starts from, as long as it knows of no cursor itself. */
  #from = "";
  /** Whether the stream was told to start, and has not begun: it reads its cursor first. */
  #starting = false;
  #tag = "";
  #epoch = "";
  #generation = 0;
  /** Whether the tabs have been asked to revalidate, and the stream's run is not over yet. */
  #asked = false;
  #doubt = false;
  #cancelTick: (() => void) | null = null;
  #stopped = false;

  /**
   * @param options The application's.
   * @param makeStream Makes the stream.
   */
  constructor(options: WorkerHostOptions, makeStream: MakeStream) {
    this.#options = options;
    this.#makeStream = makeStream;
    this.#clock = options.clock ?? platformClock();
    this.#beatMs = resolveTiming(options.timing).heartbeatMs;
    this.boot = makeId(() => this.#clock.random());
    this.#fanout = new Fanout(this.#tabs, () => this.#clock.now(), (tab) => this.#expire(tab));
    this.#asks = new Asks(this.#tabs, this.#clock);
  }

  /** Where the stream stands. */
  get state(): StreamState {
    return this.#starting ? "connecting" : this.#stream?.state() ?? "stopped";
  }

  /** How many tabs are attached. */
  get size(): number {
    return this.#tabs.size;
  }

  /**
   * Takes a port.
   *
   * @param send Sends to whoever is behind it.
   * @returns Takes what comes from there.
   */
  connect(send: (message: ToTab) => void): (data: unknown) => void {
    let tab: Tab | null = null;
    return (data) => {
      const message = readToHost(data);
      if (message === null || this.#stopped) return;
      const known = tab !== null && this.#tabs.get(tab.id) === tab ? tab : null;
      if (message.kind === "attach") {
        // A new leader's call and its followers' first word may cross: one of the two is enough.
        if (known === null || message.repair) tab = this.#attach(message, send);
      } else if (message.kind === "detach") this.#detach(known, message.reason);
      else if (known === null) send({ kind: "who", boot: this.boot });
      else this.#take(known, message);
    };
  }

  /** Ends the stream, and answers nobody any more. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#cancelTick?.();
    // First, so that they do not take it for the end of the profile's stream: another host goes on.
    for (const tab of [...this.#tabs.values()]) this.#remove(tab);
    this.#stream?.stop();
  }

  #attach(message: Attach, send: (message: ToTab) => void): Tab {
    const { tab: id, visible, online } = message;
    const old = this.#tabs.get(id);
    if (old !== undefined) this.#remove(old);
    const pulse = { heardAt: this.#clock.now(), asks: 0 };
    const seq = (): number => this.#fanout.seq;
    this.#audience.report(id, visible, online);
    this.#stream ??= this.#open(message);
    this.#setTag(message.tag);
    if (message.start) this.#start();
    // What waits is behind the cursor that the tab is told.
    this.#fanout.flush();
    const tab: Tab = { id, send, pulse, visible, acked: seq(), fullSince: null };
    this.#tabs.set(id, tab);
    const { state } = this;
    send({
      kind: "welcome",
      boot: this.boot,
      seq: seq(),
      cursor: this.#stream.cursor() || this.#from,
      state,
      epoch: this.#epoch,
      generation: this.#generation,
      owed: this.#asked,
      doubt: this.#doubt,
    });
    this.#tell({ kind: "tab_attached", tabs: this.#tabs.size, state });
    if (message.repair) this.#tell({ kind: "port_repaired" });
    this.#arm();
    return tab;
  }

  #take(tab: Tab, message: Exclude<ToHost, { readonly kind: "attach" | "detach" }>): void {
    heard(tab.pulse, this.#clock.now());
    switch (message.kind) {
      case "beat":
        tab.visible = message.visible;
        this.#fanout.acknowledge(tab, message.ack);
        this.#audience.report(tab.id, message.visible, message.online);
        if (message.ask) this.#beat(tab, false);
        return;
      case "done":
        if (message.status === 401) this.#authLost("digest");
        return this.#rounds.answered(tab, message.run);
      case "answer":
        return this.#asks.answered(message);
      case "observe": {
        const { subject, version, epoch } = message;
        // A worker of another version may be stricter than the tab: then the stamp is lost alone.
        return notify(() => this.#options.versions?.observe(subject, version, epoch ?? undefined));
      }
      case "tag":
        return this.#setTag(message.tag);
      case "reconnect":
        return this.#reconnect(message.how);
    }
  }

  #detach(tab: Tab | null, reason: string): void {
    if (tab !== null) {
      this.#remove(tab);
      this.#tell({ kind: "tab_detached", tabs: this.#tabs.size, cause: reason });
    }
    if (reason !== "logout") return;
    this.#stop();
    // Whoever logs in next must not go on from here.
    this.#forget();
    for (const each of this.#tabs.values()) this.#beat(each, false);
  }

  /** Takes a tab out of everything that waits for it. */
  #remove(tab: Tab): void {
    this.#tabs.delete(tab.id);
    this.#rounds.answered(tab);
    this.#asks.left(tab);
    this.#audience.report(tab.id, false, null);
  }

  #expire(tab: Tab): void {
    this.#remove(tab);
    const sinceLastBeatMs = this.#clock.now() - tab.pulse.heardAt;
    const unacked = this.#fanout.seq - tab.acked;
    this.#tell({ kind: "port_expired", sinceLastBeatMs, unacked });
    this.#tell({ kind: "tab_detached", tabs: this.#tabs.size, cause: "expired" });
  }

  #arm(): void {
    if (this.#tabs.size === 0) return;
    this.#cancelTick ??= this.#clock.after(this.#beatMs, () => {
      this.#cancelTick = null;
      this.#tick();
      this.#arm();
    });
  }

  #tick(): void {
    const now = this.#clock.now();
    for (const tab of [...this.#tabs.values()]) {
      if (isSilent(tab.pulse, now, this.#beatMs) || this.#fanout.isFull(tab)) this.#expire(tab);
      else if (now - tab.pulse.heardAt >= this.#beatMs) {
        tab.pulse.asks++;
        this.#beat(tab, true);
      }
    }
  }

  #beat(tab: Tab, ask: boolean): void {
    this.#fanout.flush();
    tab.send({ kind: "beat", cursor: this.#stream?.cursor() ?? "", ask });
  }

  #tell(record: LifecycleRecord): void {
    notify(() => this.#options.onLifecycle?.(record));
    // What was thrown may be something that cannot cross a port.
    const plain = "error" in record ? { ...record, error: String(record.error) } : record;
    this.#fanout.broadcast({ kind: "record", record: plain, state: this.state });
  }

  #open({ url, cursor }: Attach): Stream {
    this.#from = cursor;
    const own = this.#options;
    // Over the application's own object: it may be of a class.
    return this.#makeStream(Object.assign(Object.create(own) as WorkerHostOptions, {
      clock: this.#clock,
      url: own.url ?? url ?? this.#askUrl,
      headers: this.#headers,
      visibility: this.#audience.visibility,
      online: this.#audience.online,
      onFrame: (frame: Frame) => this.#fanout.frame(frame),
      revalidate: (context: RevalidateContext) => this.#revalidate(context),
      onLifecycle: (record: LifecycleRecord) => this.#heard(record),
      persist: {
        // A host that takes another's place goes on where its first tab stands.
        load: () =>
          this.#from === "" ? null : { cursor: this.#from, unverified: false, stateKept: true },
        save: () => {},
      },
    }));
  }

  #heard(record: LifecycleRecord): void {
    this.#doubt = followDoubt(this.#doubt, record);
    if (record.kind === "state") this.#starting = false;
    if (record.kind === "hello") {
      this.#from = "";
      this.#epoch = record.epoch;
      this.#generation = record.generation;
    }
    this.#tell(record);
    if (record.kind === "alive_ack" && record.status === 401) this.#authLost("alive");
  }

  async #revalidate(context: RevalidateContext): Promise<void> {
    const run: HostTabs["run"] = (context, findings) => {
      this.#asked = true;
      this.#fanout.flush();
      return this.#rounds.run(context, findings ?? null);
    };
    try {
      if (this.#options.revalidate === undefined) await run(context);
      else await this.#options.revalidate(context, { run });
    } catch (error) {
      this.#doubt = true;
      if (error instanceof DigestStatusError && error.status === 401) this.#authLost("digest");
      throw error;
    } finally {
      this.#asked = false;
    }
  }

  readonly #askUrl: StreamUrl = async ({ attempt, signal }) =>
    String(await this.#asks.ask("url", attempt, signal));

  readonly #headers: HeadersSource = async () => {
    const own = this.#options.headers;
    const headers = own === undefined
      ? await this.#asks.ask("headers") as PlainHeaders
      : typeof own === "function"
      ? await own()
      : own;
    return this.#tag === "" ? headers : { ...headers, "SSE-Client": this.#tag };
  };

  #setTag(tag: string): void {
    if (tag === "" || tag === this.#tag) return;
    this.#tag = tag;
    this.#stream?.reconnect();
  }

  #start(): void {
    if (this.state !== "stopped") return;
    // A stream that a refusal stopped still watches: only one that was told to stop can start.
    this.#stream?.stop();
    this.#starting = true;
    this.#stream?.start();
  }

  #reconnect(how: "reconnect" | "reset" | "credentials"): void {
    const stream = this.#stream;
    if (stream === null) return;
    if (how === "reset") this.#forget();
    if (this.state === "stopped") this.#start();
    else if (how === "reconnect") stream.reconnect();
    else if (how === "credentials") stream.credentialsChanged();
  }

  #stop(): void {
    this.#starting = false;
    this.#stream?.stop();
  }

  #forget(): void {
    this.#from = "";
    this.#stream?.resetCursor();
  }

  #authLost(route: "digest" | "alive"): void {
    if (this.state === "stopped") return;
    this.#stop();
    this.#tell({ kind: "auth_lost", route, status: 401 });
  }
}
