/**
 * What the tabs report of their pages, as one: the profile is visible while any tab is, and the
 * network is as the last report says.
 *
 * @module
 */
import type { OnlineSource, VisibilitySignal, VisibilitySource } from "../types.ts";

/** The tabs' pages, as a stream's sources. */
export class Audience {
  readonly #visible = new Set<string>();
  readonly #seers = new Set<(signal: VisibilitySignal) => void>();
  readonly #hearers = new Set<(online: boolean) => void>();
  #online = true;

  /** Whether anybody sees a page. */
  readonly visibility: VisibilitySource = {
    hidden: () => this.#visible.size === 0,
    subscribe: (listener) => subscribe(this.#seers, listener),
  };

  /** Whether there is a network. */
  readonly online: OnlineSource = {
    online: () => this.#online,
    subscribe: (listener) => subscribe(this.#hearers, listener),
  };

  /**
   * Takes a tab's report.
   *
   * @param tab The tab.
   * @param visible Whether somebody sees it.
   * @param online Whether its page sees a network; `null` when it is gone.
   */
  report(tab: string, visible: boolean, online: boolean | null): void {
    const before = this.#visible.size > 0;
    if (visible) this.#visible.add(tab);
    else this.#visible.delete(tab);
    const after = this.#visible.size > 0;
    if (after !== before) { for (const seer of this.#seers) seer(after ? "visible" : "hidden"); }
    if (online === null || online === this.#online) return;
    this.#online = online;
    for (const hearer of this.#hearers) hearer(online);
  }
}

function subscribe<L>(listeners: Set<L>, listener: L): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
