/**
 * What the tabs report of their pages, as one: the profile is visible while any tab is, and the
 * network is as the last report says.
 *
 * @module
 */
import type { OnlineSource, VisibilitySource } from "../types.ts";

/** The tabs' pages, as a stream's sources. */
export interface Audience {
  /** Whether anybody sees a page. */
  readonly visibility: VisibilitySource;
  /** Whether there is a network. */
  readonly online: OnlineSource;
  /**
   * A beat has passed: if nobody has seen a page for the whole of it, the stream is told. Not sooner:
   * between two tabs, and while a host's tabs follow it from another one, there is a moment in which
   * nobody does, and a stream that heard of it would have every tab revalidate when it is over.
   */
  beat(): void;
  /**
   * Takes a tab's report.
   *
   * @param tab The tab.
   * @param visible Whether somebody sees it.
   * @param online Whether its page sees a network; the same as before, when it is gone.
   */
  report(tab: string, visible: boolean, online?: boolean): void;
}

/** Makes the audience of one host: somebody, and a network, until it is known better. */
export function createAudience(): Audience {
  const visible = new Set<string>();
  const seen = signal<"visible" | "hidden">("visible");
  const network = signal(true);
  /** Whether nobody has seen a page since the last beat. */
  let unseen = false;
  return {
    visibility: { hidden: () => seen.get() === "hidden", subscribe: seen.subscribe },
    online: { online: network.get, subscribe: network.subscribe },
    beat() {
      if (unseen) seen.set("hidden");
      unseen = visible.size === 0;
    },
    report(tab, sees, online = network.get()) {
      if (sees) visible.add(tab);
      else visible.delete(tab);
      if (visible.size > 0) unseen = false;
      if (sees) seen.set("visible");
      network.set(online);
    },
  };
}

interface Signal<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: (value: T) => void): () => void;
}

/** A value that tells of its changes. */
function signal<T>(value: T): Signal<T> {
  const listeners = new Set<(value: T) => void>();
  return {
    get: () => value,
    set(next) {
      if (next === value) return;
      value = next;
      for (const listener of listeners) listener(next);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
