/**
 * Somebody who publishes on many topics all the time, through any of the pods that take it. Runs under
 * Deno.
 *
 * @module
 */
import type { Random } from "../suites/lib/random.ts";
import type { Published } from "./roll_account.ts";

const REQUEST_MS = 8000;

/** What one topic is told. */
class Topic implements Published {
  readonly stored = new Set<number>();
  readonly doubtful = new Set<number>();
  next = 1;
}

/** Publishes the numbers 1, 2, 3, … on each topic, one after the other. */
export class Publisher {
  readonly #random: Random;
  readonly #pods = new Set<string>();
  readonly #topics: ReadonlyMap<string, Topic>;
  readonly #ending = new AbortController();
  #work: Promise<unknown> | null = null;

  /**
   * @param random Decides through which pod.
   * @param topics Their names.
   */
  constructor(random: Random, topics: readonly string[]) {
    this.#random = random;
    this.#topics = new Map(topics.map((topic) => [topic, new Topic()]));
  }

  /** A pod takes events. It is left out from the first one on that it does not take. */
  add(url: string): void {
    this.#pods.add(url);
  }

  /** How many events were acknowledged. */
  get stored(): number {
    return [...this.#topics.values()].reduce((sum, { stored }) => sum + stored.size, 0);
  }

  /** How many were not. */
  get doubtful(): number {
    return [...this.#topics.values()].reduce((sum, { doubtful }) => sum + doubtful.size, 0);
  }

  /** What was published on a topic. */
  on(topic: string): Published {
    const published = this.#topics.get(topic);
    if (published === undefined) throw new Error(`Nobody publishes on ${topic}`);
    return published;
  }

  /**
   * Begins.
   *
   * @param everyMs How long to wait on each topic after an event, in milliseconds, on average.
   */
  start(everyMs: number): void {
    this.#work = Promise.all(
      [...this.#topics].map(async ([name, topic]) => {
        while (!this.#ending.signal.aborted) {
          await this.#pace(everyMs * 2 * this.#random.next());
          await this.#publish(name, topic);
        }
      }),
    );
  }

  /** Ends, once what is under way has been answered. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#work;
  }

  async #publish(name: string, topic: Topic): Promise<void> {
    const pods = [...this.#pods];
    const pod = pods[this.#random.between(0, pods.length - 1)];
    if (pod === undefined) throw new Error("There is no pod to publish through");
    const n = topic.next++;
    const body = JSON.stringify({ topic: name, name: "n", data: String(n) });
    try {
      const signal = AbortSignal.timeout(REQUEST_MS);
      const answer = await fetch(`${pod}/control/publish`, { method: "POST", body, signal });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`It was answered with ${answer.status}`);
      topic.stored.add(n);
    } catch {
      this.#pods.delete(pod);
      topic.doubtful.add(n);
    }
  }

  /** The pace of what happens, not a wait for anything. */
  #pace(ms: number): Promise<void> {
    const { signal } = this.#ending;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done);
    });
  }
}
