/**
 * What a tab is, whoever carries its stream: who it is, what it has got, and what it answers.
 *
 * @module
 */
import { RefusedError } from "../../errors.ts";
import { platformClock } from "../clock.ts";
import { notify } from "../notify.ts";
import { platformOnline } from "../online.ts";
import type { LifecycleRecord } from "../records.ts";
import { resolveTiming, type TimingConfig } from "../timing.ts";
import type { ClientClock, OnlineSource, StreamState, VisibilitySource } from "../types.ts";
import { documentVisibility } from "../visibility.ts";
import { followDoubt } from "../worker/doubt.ts";
import {
  makeId,
  type PlainHeaders,
  PROTOCOL,
  type ToHost,
  type ToTab,
} from "../worker/protocol.ts";
import { Inbox } from "./inbox.ts";
import type { TabOptions } from "./types.ts";

/** The part of a page's global scope that is used. */
interface PageScope {
  readonly location?: { readonly href: string };
}

type Answer = Extract<ToHost, { readonly kind: "answer" }>;
type Question = Extract<ToTab, { readonly kind: "ask" }>;

/** A tab. */
export class TabCore {
  readonly id: string;
  readonly options: TabOptions;
  readonly clock: ClientClock;
  readonly timing: TimingConfig;
  readonly visibility: VisibilitySource;
  readonly online: OnlineSource;
  readonly inbox: Inbox;
  /** The stream's address, when it is always the same one. */
  readonly url: string | null;
  state: StreamState = "connecting";
  tag: string;
  #boot = "";
  /** Whether the stream owes a revalidation: if its host goes, this tab runs one. */
  doubt = false;

  /** @param options The application's. */
  constructor(options: TabOptions) {
    this.options = options;
    this.clock = options.clock ?? platformClock();
    this.timing = resolveTiming(options.timing);
    this.visibility = options.visibility ?? documentVisibility();
    this.online = options.online ?? platformOnline();
    this.url = typeof options.url === "function" ? null : absolute(options.url);
    this.tag = options.tag ?? "";
    this.id = makeId(this.clock.random());
    this.inbox = new Inbox({
      app: options,
      tell: (record) => this.tell(record),
      clock: this.clock,
      timeoutMs: this.timing.revalidateTimeoutMs,
    });
  }

  /**
   * Says who this tab is, and where it stands.
   *
   * @param repair Whether it had expired.
   * @returns The message.
   */
  attachment(repair: boolean): ToHost {
    return {
      kind: "attach",
      v: PROTOCOL,
      tab: this.id,
      cursor: this.inbox.cursor,
      start: this.state !== "stopped",
      repair,
      owed: repair || this.doubt || this.inbox.owing,
      ...this.page(),
      tag: this.tag,
      url: this.url,
    };
  }

  /** How the page is. */
  page(): { readonly visible: boolean; readonly online: boolean } {
    return { visible: !this.visibility.hidden(), online: this.online.online() };
  }

  /**
   * Reports to the application.
   *
   * @param record What happened.
   */
  tell(record: LifecycleRecord): void {
    notify(() => this.options.onLifecycle?.(record));
  }

  /**
   * A host takes this tab in.
   *
   * @param welcome What it says.
   */
  welcome(welcome: Extract<ToTab, { readonly kind: "welcome" }>): void {
    const { boot, cursor, state, epoch, generation, doubt } = welcome;
    this.state = state;
    this.inbox.opened(state === "open" ? { epoch, generation } : null);
    this.inbox.begin(cursor, boot === this.#boot, doubt || this.doubt);
    this.#boot = boot;
    this.doubt = false;
  }

  /**
   * Takes a record of the host.
   *
   * @param record What happened.
   * @param state How the stream stands since.
   */
  heard(record: LifecycleRecord, state: StreamState): void {
    this.state = state;
    this.doubt = followDoubt(this.doubt, record);
    if (state !== "open") this.inbox.opened(null);
    this.tell(record);
    if (record.kind !== "hello") return;
    const { epoch, generation, resumed, repair, verdict } = record;
    this.inbox.opened({ epoch, generation });
    this.inbox.connected(verdict === "gap_ahead", resumed || repair);
  }

  /**
   * Answers what the host wants to know.
   *
   * @param question The question.
   * @param signal Aborts when no answer is wanted any more.
   * @returns The answer.
   */
  async answer({ ask, want, attempt }: Question, signal: AbortSignal): Promise<Answer> {
    const { url, headers = {} } = this.options;
    let value: string | PlainHeaders | null = null;
    let fault: "refused" | null = null;
    try {
      if (want === "headers") {
        value = { ...typeof headers === "function" ? await headers() : headers };
      } else value = absolute(typeof url === "function" ? await url({ attempt, signal }) : url);
    } catch (error) {
      if (error instanceof RefusedError) fault = "refused";
    }
    return { kind: "answer", ask, value, fault };
  }
}

/** A worker's script is elsewhere: what is relative is so to the page. */
function absolute(url: string | URL): string {
  const { location } = globalThis as PageScope;
  return location === undefined ? String(url) : new URL(url, location.href).href;
}
