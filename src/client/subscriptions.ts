/**
 * Topics that are subscribed on the live stream, beyond those of its URL: remembered, and subscribed
 * again after each hello, so that nothing of them is missed, or the gap is told.
 *
 * @module
 */
import { SubscribeError } from "../errors.ts";
import { type Cursor, formatCursor } from "../wire/cursor.ts";
import type { Hello } from "../wire/hello.ts";
import type { ResolvedOptions } from "./options.ts";
import type { LifecycleRecord } from "./records.ts";
import { backoffStep } from "./timing.ts";
import { type Answer, readSubscribed, TopicPosts } from "./topic_posts.ts";
import type { HistoryRequest, Subscribed } from "./types.ts";

/** What is known of one topic. */
interface Topic {
  /** What part of its past is still owed: until its end came, each subscription asks again. */
  history: HistoryRequest | undefined;
  /**
   * What the first connection since the last confirmed subscription presented: `null` for nothing,
   * `undefined` when the subscription is confirmed, or has never been.
   */
  after: Cursor | null | undefined;
  /**
   * What is still to come on this connection before nothing follows `after` any more, as bits: 1, the
   * answer that it is resumed, and 2, the end of its past, in either order. The next connection owes
   * both again.
   */
  owed: number;
  /** Whether the server has confirmed it once. */
  known: boolean;
  /** Whether it is being asked for, with all that is wanted. */
  asking: boolean;
  /** Who waits for the first answer. */
  readonly waiting: {
    resolve(answer: Subscribed): void;
    reject(error: SubscribeError): void;
  }[];
  /** How often in a row it could not be subscribed. */
  failures: number;
}

/** What the subscriptions need. */
export interface SubscriptionsOptions {
  /** The application's options. */
  readonly stream: ResolvedOptions;
  /** A topic could not resume on the open connection. */
  gap(topic: string): void;
  /** Takes records. */
  report(record: LifecycleRecord): void;
}

/** The subscriptions of one stream. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  readonly #posts: TopicPosts;
  readonly #topics = new Map<string, Topic>();
  /** The open connection's id; `null` when it has none, `undefined` while there is none. */
  #connection: string | null | undefined;
  readonly #retries = new Set<() => void>();

  /**
   * None yet.
   *
   * @param options What they need.
   */
  constructor(options: SubscriptionsOptions) {
    this.#options = options;
    this.#posts = new TopicPosts(options.stream);
  }

  /** A connection opened: subscribe everything on it. */
  opened(hello: Hello, presented: Cursor | null): void {
    this.closed();
    this.#connection = hello.connection ?? null;
    for (const [name, topic] of this.#topics) {
      if (topic.known && topic.after === undefined) topic.after = presented;
      void this.#ask(name, topic);
    }
  }

  /** The connection is over. */
  closed(): void {
    this.#connection = undefined;
    this.#posts.abort();
    for (const topic of this.#topics.values()) {
      topic.asking = false;
      topic.owed = 1 | 2;
    }
    for (const cancel of this.#retries) cancel();
    this.#retries.clear();
  }

  /** The stream was stopped: nobody waits any longer. The topics stay for the next start. */
  stopped(): void {
    this.closed();
    for (const topic of this.#topics.values()) {
      this.#reject(topic, new SubscribeError("it was stopped"));
    }
  }

  /** A history began or ended. */
  history(phase: "begin" | "end", name: string): void {
    const topic = this.#topics.get(name);
    if (topic === undefined) return;
    // The server has subscribed it, even if its answer is lost on the way.
    topic.known = true;
    if (phase === "begin") return;
    topic.history = undefined;
    topic.owed &= 1;
    if (topic.owed === 0) topic.after = undefined;
  }

  /** See {@linkcode Stream.subscribe}. */
  async subscribe(name: string, history: HistoryRequest | undefined): Promise<Subscribed> {
    const { subscribeUrl } = this.#options.stream;
    if (subscribeUrl === undefined) throw new SubscribeError("subscribeUrl is not set");
    return await new Promise((resolve, reject) => {
      const topic: Topic = this.#topics.get(name) ?? {
        history: undefined,
        after: undefined,
        owed: 0,
        known: false,
        asking: false,
        waiting: [],
        failures: 0,
      };
      if (history !== undefined) topic.history = history;
      topic.waiting.push({ resolve, reject });
      this.#topics.set(name, topic);
      // What is on its way already answers for both, unless more is wanted now.
      const joins = topic.asking && history === undefined;
      if (this.#connection !== undefined && !joins) void this.#ask(name, topic);
    });
  }

  /** See {@linkcode Stream.unsubscribe}. */
  async unsubscribe(name: string): Promise<void> {
    const { unsubscribeUrl } = this.#options.stream;
    if (unsubscribeUrl === undefined) throw new SubscribeError("unsubscribeUrl is not set");
    const topic = this.#topics.get(name);
    this.#topics.delete(name);
    if (topic !== undefined) this.#reject(topic, new SubscribeError("it was unsubscribed"));
    const connection = this.#connection;
    // Without a connection there is nothing to end: the next one will not subscribe it.
    if (topic === undefined || typeof connection !== "string") return;
    const answer = await this.#posts.send(unsubscribeUrl, name, { connection, topic: name });
    if (this.#connection !== connection) return;
    if (!answer?.ok) throw new SubscribeError(reasonOf(answer), answer?.status);
  }

  async #ask(name: string, topic: Topic): Promise<void> {
    const { subscribeUrl } = this.#options.stream;
    const connection = this.#connection;
    if (subscribeUrl === undefined || connection === undefined) return;
    if (connection === null) {
      return this.#refuse(name, topic, "the hello names no connection");
    }
    const { history, after } = topic;
    topic.asking = true;
    const answer = await this.#posts.send(subscribeUrl, name, {
      connection,
      topic: name,
      history,
      after: after ? formatCursor(after) : undefined,
    });
    // Of another connection by now, which asks for itself; or no longer wanted.
    if (this.#connection !== connection || this.#topics.get(name) !== topic) return;
    topic.asking = false;
    const subscribed = answer?.ok ? readSubscribed(answer.body) : null;
    if (subscribed === null) return this.#refuse(name, topic, reasonOf(answer), answer?.status);
    topic.known = true;
    const { verdict } = subscribed;
    topic.owed &= after && verdict === "resumed" ? 2 : 0;
    if (topic.owed === 0) topic.after = undefined;
    topic.failures = 0;
    this.#options.report({ kind: "subscribed", topic: name, ...subscribed });
    for (const { resolve } of topic.waiting.splice(0)) resolve(subscribed);
    // A whole history covers what was too much to resume, too; not what the server no longer holds.
    const whole = verdict === "resumed" || (history === true && verdict === "gap_budget");
    if (after !== undefined && !whole) this.#options.gap(name);
  }

  /** The first time it is the application's to decide; later it is asked again, unless forbidden. */
  #refuse(name: string, topic: Topic, reason: string, status: number | null = null): void {
    this.#options.report({ kind: "subscribe_failed", topic: name, status });
    if (!topic.known || status === 401 || status === 403) {
      this.#topics.delete(name);
      return this.#reject(topic, new SubscribeError(reason, status));
    }
    if (typeof this.#connection !== "string") return;
    const { clock, timing } = this.#options.stream;
    const waitMs = timing.baseMs + clock.random() * backoffStep(timing, topic.failures++);
    const cancel = clock.after(waitMs, () => {
      this.#retries.delete(cancel);
      if (this.#topics.get(name) === topic) void this.#ask(name, topic);
    });
    this.#retries.add(cancel);
  }

  #reject(topic: Topic, error: SubscribeError): void {
    for (const { reject } of topic.waiting.splice(0)) reject(error);
  }
}

function reasonOf(answer: Answer | null): string {
  return answer === null ? "it was not answered" : `it was answered with ${answer.status}`;
}
