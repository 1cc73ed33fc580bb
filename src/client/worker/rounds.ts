/**
 * Rounds of revalidation: one request to every attached tab, over when each has answered.
 *
 * @module
 */
import type { RevalidateContext } from "../types.ts";
import type { Tab } from "./tab.ts";
import type { TabFindings } from "./types.ts";

interface Round {
  readonly run: number;
  readonly waiting: Set<Tab>;
  readonly over: () => void;
}

/** The rounds of one host. */
export class Rounds {
  readonly #tabs: ReadonlyMap<string, Tab>;
  readonly #rounds = new Set<Round>();
  #runs = 0;

  /** @param tabs The attached tabs. */
  constructor(tabs: ReadonlyMap<string, Tab>) {
    this.#tabs = tabs;
  }

  /**
   * Asks every attached tab to revalidate.
   *
   * A tab whose revalidation fails has answered too: it knows that it still owes one, and the others
   * need not repeat theirs for it.
   *
   * @param context What the stream said.
   * @param findings What a digest found; `null` without one.
   * @returns Settles when each tab has answered, left or expired.
   * @throws {unknown} The signal's reason, when it aborts before.
   */
  async run(context: RevalidateContext, findings: TabFindings | null): Promise<void> {
    const { cause, epoch, generation, full, topics, signal } = context;
    signal.throwIfAborted();
    const run = ++this.#runs;
    const { changed = null, removed = null } = findings ?? {};
    let over = (): void => {};
    const answered = new Promise<void>((resolve) => over = resolve);
    const round: Round = { run, waiting: new Set(this.#tabs.values()), over };
    this.#rounds.add(round);
    signal.addEventListener("abort", over);
    for (const { send } of round.waiting) {
      send({ kind: "revalidate", run, cause, epoch, generation, full, topics, changed, removed });
    }
    this.#settle(round);
    await answered;
    this.#rounds.delete(round);
    signal.removeEventListener("abort", over);
    for (const { send } of round.waiting) send({ kind: "abort", run });
    signal.throwIfAborted();
  }

  /**
   * Takes a tab's answer.
   *
   * @param tab The tab.
   * @param run Which round; without it the tab is gone, and answers none any more.
   */
  answered(tab: Tab, run?: number): void {
    for (const round of this.#rounds) {
      if ((run ?? round.run) === round.run && round.waiting.delete(tab)) this.#settle(round);
    }
  }

  #settle(round: Round): void {
    if (round.waiting.size === 0) round.over();
  }
}
