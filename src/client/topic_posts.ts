/**
 * The requests by which topics are subscribed and unsubscribed on a live stream.
 *
 * @module
 */
import type { Verdict } from "../wire/hello.ts";
import { readObject } from "../wire/json.ts";
import { readText } from "./body.ts";
import type { ResolvedOptions } from "./options.ts";
import { post } from "./post.ts";
import type { Subscribed } from "./types.ts";

/** An answer that came whole. */
export interface Answer {
  /** Whether its status is 2xx. */
  readonly ok: boolean;
  /** Its status. */
  readonly status: number;
  /** Its text. */
  readonly body: string;
}

/** An answer has a verdict and a head: more than this is none. */
const MAX_ANSWER_BYTES = 4096;

/** The requests of one stream. */
export class TopicPosts {
  readonly #stream: ResolvedOptions;
  /** By topic, the end of the last request: a server may serve two at once in either order. */
  readonly #lines = new Map<string, Promise<unknown>>();
  /** What is on its way or waits for its turn, with what stops its clock. */
  readonly #underWay = new Map<AbortController, () => void>();

  /** @param stream The application's options. */
  constructor(stream: ResolvedOptions) {
    this.#stream = stream;
  }

  /** Gives up whatever is on its way. */
  abort(): void {
    for (const [controller, stopClock] of this.#underWay) {
      stopClock();
      controller.abort();
    }
  }

  /**
   * Posts, after what was posted before for the same topic.
   *
   * @param url Where to.
   * @param topic The topic.
   * @param body What.
   * @returns The answer; `null` when none came, or it was given up.
   */
  send(url: string | URL, topic: string, body: unknown): Promise<Answer | null> {
    const controller = new AbortController();
    this.#underWay.set(controller, () => {});
    const before = this.#lines.get(topic) ?? Promise.resolve();
    const answer = before.then(() => this.#post(url, body, controller));
    this.#lines.set(topic, answer);
    void answer.then(() => {
      this.#underWay.delete(controller);
      if (this.#lines.get(topic) === answer) this.#lines.delete(topic);
    });
    return answer;
  }

  /** Settles in time, and when it is given up, even if the fetch takes no notice. */
  async #post(
    url: string | URL,
    body: unknown,
    controller: AbortController,
  ): Promise<Answer | null> {
    const { clock, timing } = this.#stream;
    const { signal } = controller;
    if (signal.aborted) return null;
    const given = new Promise<null>((resolve) =>
      signal.addEventListener("abort", () => resolve(null), { once: true })
    );
    const stopClock = clock.after(timing.connectTimeoutMs, () => controller.abort());
    this.#underWay.set(controller, stopClock);
    try {
      return await Promise.race([this.#request(url, body, signal), given]);
    } catch {
      return null;
    } finally {
      stopClock();
    }
  }

  async #request(url: string | URL, body: unknown, signal: AbortSignal): Promise<Answer> {
    const response = await post(this.#stream, url, signal, JSON.stringify(body));
    const text = await readText(response, MAX_ANSWER_BYTES, signal);
    return { ok: response.ok, status: response.status, body: text ?? "" };
  }
}

/**
 * Reads the answer to a subscription.
 *
 * @param body The answer's text.
 * @returns What it says; `null` when it says nothing of the kind.
 */
export function readSubscribed(body: string): Subscribed | null {
  const { verdict, head } = readObject(body) ?? {};
  if (typeof verdict !== "string" || typeof head !== "string") return null;
  // A verdict that this version does not know is no "resumed", and that is all that counts.
  return { verdict: verdict as Verdict, head };
}
