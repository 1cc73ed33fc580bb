/**
 * One lock for all tabs of a profile: who holds it leads.
 *
 * @module
 */

/** The part of a `LockManager` that is used. */
export interface LockManagerLike {
  /** Asks for a lock, which is held until the callback's promise settles. */
  request(
    name: string,
    options: { readonly signal?: AbortSignal; readonly steal?: boolean },
    callback: () => Promise<void> | undefined,
  ): Promise<unknown>;
}

/** What becomes of a request. */
export interface LockEvents {
  /** The lock is held from now on. */
  won(): void;
  /** Another tab has stolen it. */
  lost(): void;
  /** There are no locks here. */
  failed(): void;
}

/**
 * Asks for the lock.
 *
 * @param locks The page's locks.
 * @param name The lock's name.
 * @param steal Whether it is taken from whoever holds it, instead of waiting for one's turn: a page
 * that sleeps keeps its lock, and does not know that it should let go.
 * @param events What becomes of it.
 * @returns Gives it back, or the request up.
 */
export function contend(
  locks: LockManagerLike,
  name: string,
  steal: boolean,
  events: LockEvents,
): () => void {
  const queue = new AbortController();
  let over = false;
  let release: (() => void) | null = null;
  // A request that steals takes no signal.
  locks.request(name, steal ? { steal } : { signal: queue.signal }, () => {
    if (over) return undefined;
    const held = new Promise<void>((resolve) => release = resolve);
    events.won();
    return held;
  }).catch((error) => {
    if (over) return;
    over = true;
    // Whoever slept may have been robbed before it heard that it had won.
    if (error instanceof DOMException && error.name === "AbortError") events.lost();
    else events.failed();
  });
  return () => {
    over = true;
    queue.abort();
    release?.();
  };
}
