/**
 * Asking the tabs for what only a page has: the address, and the credentials in the headers.
 *
 * @module
 */
import { RefusedError } from "../../errors.ts";
import type { ClientClock } from "../types.ts";
import type { PlainHeaders, ToHost, Want } from "./protocol.ts";
import type { Tab } from "./tab.ts";

/** How long a tab has to answer, in milliseconds. */
const ANSWER_MS = 5000;

type Answer = Extract<ToHost, { readonly kind: "answer" }>;

/** The questions of one host. */
export class Asks {
  readonly #tabs: ReadonlyMap<string, Tab>;
  readonly #clock: ClientClock;
  readonly #waiting = new Map<number, { tab: Tab; answer(answer: Answer | null): void }>();
  #asks = 0;

  /**
   * @param tabs The attached tabs.
   * @param clock For how long to wait.
   */
  constructor(tabs: ReadonlyMap<string, Tab>, clock: ClientClock) {
    this.#tabs = tabs;
    this.#clock = clock;
  }

  /**
   * Asks one tab after another, the visible ones first.
   *
   * @param want What is wanted.
   * @param attempt How many attempts have failed.
   * @param signal Gives it up.
   * @returns The first answer.
   * @throws {RefusedError} When a tab says that asking again would not help.
   * @throws {Error} When no tab had an answer.
   */
  async ask(want: Want, attempt = 0, signal?: AbortSignal): Promise<string | PlainHeaders> {
    const tried = new Set<Tab>();
    for (;;) {
      const left = [...this.#tabs.values()].filter((tab) => !tried.has(tab));
      const tab = left.find(({ visible }) => visible) ?? left[0];
      if (tab === undefined) throw new Error(`No tab brought the stream's ${want}`);
      tried.add(tab);
      const answer = await this.#askOne(tab, want, attempt, signal);
      signal?.throwIfAborted();
      if (answer?.refused) throw new RefusedError("a tab says so");
      if (answer !== null && answer.value !== null) return answer.value;
    }
  }

  /**
   * Takes an answer.
   *
   * @param answer The answer.
   */
  answered(answer: Answer): void {
    this.#waiting.get(answer.ask)?.answer(answer);
  }

  /**
   * A tab is gone: the next one is asked at once.
   *
   * @param tab The tab.
   */
  left(tab: Tab): void {
    for (const each of [...this.#waiting.values()]) if (each.tab === tab) each.answer(null);
  }

  async #askOne(
    tab: Tab,
    want: Want,
    attempt: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer | null> {
    const ask = ++this.#asks;
    const answered = new Promise<Answer | null>((answer) =>
      this.#waiting.set(ask, { tab, answer })
    );
    const giveUp = (): void => this.#waiting.get(ask)?.answer(null);
    signal?.addEventListener("abort", giveUp);
    const cancel = this.#clock.after(ANSWER_MS, giveUp);
    tab.send({ kind: "ask", ask, want, attempt });
    const answer = await answered;
    cancel();
    signal?.removeEventListener("abort", giveUp);
    this.#waiting.delete(ask);
    return answer;
  }
}
