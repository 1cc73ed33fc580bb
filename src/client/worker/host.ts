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
  RevalidateContext,
  StreamOptions,
  StreamState,
} from "../types.ts";
import { createAudience } from "./audience.ts";
import { createCredentials, type Credentials } from "./credentials.ts";
import { createFanout, type Fanout } from "./fanout.ts";
import { type MakeStream, ProfileStream } from "./profile_stream.ts";
import { makeId, PROTOCOL, readToHost, type ToHost, type ToTab } from "./protocol.ts";
import { heard, isSilent } from "./pulse.ts";
import { createQuestions, type Questions } from "./questions.ts";
import type { Tab } from "./tab.ts";
import type { HostTabs, WorkerHostOptions } from "./types.ts";

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
  readonly #audience = createAudience();
  readonly #fanout: Fanout;
  readonly #questions: Questions;
  readonly #credentials: Credentials;
  #stream: ProfileStream | null = null;
  #cancelTick: (() => void) | null = null;
  #over = false;

  /**
   * @param options The application's.
   * @param makeStream Makes the stream.
   */
  constructor(options: WorkerHostOptions, makeStream: MakeStream) {
    this.#options = options;
    this.#makeStream = makeStream;
    const clock = this.#clock = options.clock ?? platformClock();
    this.#beatMs = resolveTiming(options.timing).heartbeatMs;
    this.boot = makeId(clock.random());
    this.#fanout = createFanout({
      tabs: this.#tabs,
      now: () => clock.now(),
      cursor: () => this.#cursor,
      expire: (tab) => this.#expire(tab),
    });
    this.#questions = createQuestions(clock);
    this.#credentials = createCredentials(options, this.#tabs, this.#questions);
  }

  /** Where the stream stands. */
  get state(): StreamState {
    return this.#stream?.state ?? "stopped";
  }

  /** How many tabs are attached. */
  get size(): number {
    return this.#tabs.size;
  }

  get #cursor(): string {
    return this.#stream?.cursor ?? "";
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
      if (message === null || this.#over) return;
      const known = tab !== null && this.#tabs.get(tab.id) === tab ? tab : null;
      if (message.kind === "attach") {
        // A new leader's call and its followers' first word may cross: one of the two is enough.
        if (known === null || message.repair) tab = this.#attach(message, send);
      } else if (message.kind === "detach") this.#detach(known, message.reason);
      else if (known === null) send({ kind: "who", v: PROTOCOL, boot: this.boot });
      else this.#take(known, message);
    };
  }

  /** Ends the stream, and answers nobody any more. */
  stop(): void {
    this.#over = true;
    this.#cancelTick?.();
    // First, so that they do not take it for the end of the profile's stream: another host goes on.
    for (const tab of [...this.#tabs.values()]) this.#remove(tab);
    this.#stream?.stop();
  }

  #attach(message: Attach, send: (message: ToTab) => void): Tab {
    const { tab: id, visible, online, repair } = message;
    const old = this.#tabs.get(id);
    if (old !== undefined) this.#remove(old);
    this.#audience.report(id, visible, online);
    const stream = this.#stream ??= this.#open(message);
    this.#retag(message.tag);
    if (message.start) stream.start();
    const { boot, size } = this;
    const { state, epoch, generation, doubt } = stream;
    const attached = { kind: "tab_attached", tabs: size + 1, state } as const;
    // With it goes what waits: that is behind the cursor which the tab is told.
    this.#tell(attached);
    const frames = message.owed || doubt ? [] : this.#fanout.since(message.cursor);
    const cursor = frames.length > 0 ? message.cursor : stream.cursor;
    const seq = this.#fanout.seq() - frames.length;
    const pulse = { heardAt: this.#clock.now(), asks: 0 };
    const tab: Tab = { id, send, pulse, visible, acked: seq, fullSince: null };
    this.#tabs.set(id, tab);
    send({ kind: "welcome", v: PROTOCOL, boot, seq, cursor, state, epoch, generation, doubt });
    send({ kind: "record", record: attached, state, cursor });
    if (frames.length > 0) send({ kind: "frames", seq: seq + 1, frames });
    if (repair) this.#tell({ kind: "port_repaired" });
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
      case "answer":
        if (message.fault === "unauthorized") this.#authLost("digest");
        return this.#questions.answered(tab, message);
      case "observe": {
        const { subject, version, epoch } = message;
        // A worker of another version may be stricter than the tab: then the stamp is lost alone.
        return notify(() => this.#options.versions?.observe(subject, version, epoch ?? undefined));
      }
      case "tag":
        return this.#retag(message.tag);
      case "reconnect":
        if (message.how === "reset") this.#fanout.gap();
        return this.#stream?.reconnect(message.how);
    }
  }

  #detach(tab: Tab | null, reason: string): void {
    if (tab !== null) this.#leave(tab, reason);
    if (reason !== "logout") return;
    // Whoever logs in next must not go on from here.
    this.#stream?.stop();
    this.#stream?.forget();
    this.#fanout.gap();
    for (const each of this.#tabs.values()) this.#beat(each, false);
  }

  #leave(tab: Tab, cause: string): void {
    this.#remove(tab);
    this.#tell({ kind: "tab_detached", tabs: this.size, cause });
  }

  /** Takes a tab out of everything that waits for it. */
  #remove(tab: Tab): void {
    this.#tabs.delete(tab.id);
    this.#questions.left(tab);
    this.#audience.report(tab.id, false);
  }

  #expire(tab: Tab): void {
    const sinceLastBeatMs = this.#clock.now() - tab.pulse.heardAt;
    const unacked = this.#fanout.seq() - tab.acked;
    // Before its record goes out: to this tab nothing is sent any more.
    this.#remove(tab);
    this.#tell({ kind: "port_expired", sinceLastBeatMs, unacked });
    this.#leave(tab, "expired");
  }

  #arm(): void {
    if (this.size === 0 && this.#audience.visibility.hidden()) return;
    this.#cancelTick ??= this.#clock.after(this.#beatMs, () => {
      this.#cancelTick = null;
      this.#tick();
      this.#arm();
    });
  }

  #tick(): void {
    const now = this.#clock.now();
    this.#audience.beat();
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
    tab.send({ kind: "beat", cursor: this.#cursor, ask });
  }

  #tell(record: LifecycleRecord): void {
    notify(() => this.#options.onLifecycle?.(record));
    // What was thrown may be something that cannot cross a port.
    const plain = "error" in record ? { ...record, error: String(record.error) } : record;
    const { state } = this;
    this.#fanout.broadcast({ kind: "record", record: plain, state, cursor: this.#cursor });
  }

  #open({ url, cursor }: Attach): ProfileStream {
    const { visibility, online } = this.#audience;
    // Over the application's own object: it may be of a class.
    const options = Object.assign(
      Object.create(this.#options) as WorkerHostOptions,
      {
        clock: this.#clock,
        url: this.#credentials.url(url),
        headers: this.#credentials.headers,
        visibility,
        online,
        onFrame: (frame: Frame) => this.#fanout.frame(frame),
        revalidate: (context: RevalidateContext) => this.#revalidate(context),
        onLifecycle: (record: LifecycleRecord) => this.#heard(record),
      } satisfies StreamOptions,
    );
    return new ProfileStream(this.#makeStream, options, cursor);
  }

  #heard(record: LifecycleRecord): void {
    if (record.kind === "lag" || (record.kind === "hello" && !record.resumed)) this.#fanout.gap();
    this.#tell(record);
    if (record.kind === "alive_ack" && record.status === 401) this.#authLost("alive");
  }

  async #revalidate(context: RevalidateContext): Promise<void> {
    const run: HostTabs["run"] = async (
      { cause, epoch, generation, full, topics, signal },
      findings,
    ) => {
      // A tab that comes from here on is too late for this one.
      if (this.#stream !== null) this.#stream.doubt = true;
      this.#fanout.flush();
      const { changed, removed } = findings ?? { changed: null, removed: null };
      const what = { cause, epoch, generation, full, topics, changed, removed };
      const request = (ask: number): ToTab => ({ kind: "revalidate", ask, ...what });
      await this.#questions.ask(this.#tabs.values(), request, signal);
      signal.throwIfAborted();
    };
    try {
      const own = this.#options;
      await (own.revalidate === undefined ? run(context) : own.revalidate(context, { run }));
    } catch (error) {
      if (error instanceof DigestStatusError && error.status === 401) this.#authLost("digest");
      throw error;
    }
  }

  #retag(tag: string): void {
    if (this.#credentials.retag(tag) && this.state !== "stopped") {
      this.#stream?.reconnect("reconnect");
    }
  }

  #authLost(route: "digest" | "alive"): void {
    if (this.state === "stopped") return;
    this.#stream?.stop();
    this.#tell({ kind: "auth_lost", route, status: 401 });
  }
}
