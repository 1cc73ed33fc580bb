/**
 * Which tags are alive: by their connections, and by their acknowledgements.
 *
 * @module
 */
import type { TagPresence } from "./presence.ts";
import type { Topics } from "./topics.ts";

/** How many tags without a connection stay listed; twice as many before they are cleared up. */
const MAX_IDLE = 1024;

interface Entry {
  readonly connections: Map<string, Topics>;
  lastAliveAt: number;
  alive: boolean;
}

/** The tags of one hub. */
export class PresenceTable {
  readonly #entries = new Map<string, Entry>();
  #windowMs: number;
  /** How many entries have no connection. */
  #idle = 0;
  #alive = 0;
  #expired = 0;

  /** @param windowMs For how many milliseconds an acknowledgement counts. */
  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** @param ms For how many milliseconds an acknowledgement counts from now on. */
  setWindow(ms: number): void {
    this.#windowMs = ms;
  }

  /** How often a tag became alive, and how often one ran out. */
  get transitions(): { readonly alive: number; readonly expired: number } {
    return { alive: this.#alive, expired: this.#expired };
  }

  /**
   * A connection came.
   *
   * @param tag Its tag; one without a tag is not listed.
   * @param connection Its id.
   * @param topics Its topics; `null` for everything. They may change.
   * @param now The monotonic time.
   */
  connected(tag: string, connection: string, topics: Topics, now: number): void {
    if (tag === "") return;
    const entry = this.#touch(tag, now);
    if (entry.connections.size === 0) this.#idle--;
    entry.connections.set(connection, topics);
  }

  /**
   * A connection left.
   *
   * @param tag Its tag.
   * @param connection Its id.
   */
  disconnected(tag: string, connection: string): void {
    const entry = this.#entries.get(tag);
    if (!entry?.connections.delete(connection) || entry.connections.size > 0) return;
    this.#idle++;
    this.#prune();
  }

  /**
   * A client said that it lives.
   *
   * @param tag Its tag.
   * @param now The monotonic time.
   */
  acknowledged(tag: string, now: number): void {
    this.#touch(tag, now);
    this.#prune();
  }

  /**
   * Lists the tags, the one silent longest first.
   *
   * @param now The monotonic time.
   * @returns A copy; its times are monotonic.
   */
  list(now: number): TagPresence[] {
    for (const entry of this.#entries.values()) this.#expire(entry, now);
    return [...this.#entries].map(([tag, entry]) => {
      const topics = [...entry.connections.values()];
      const everything = topics.some((list) => list === null);
      return {
        tag,
        connections: entry.connections.size,
        topics: everything ? [] : [...new Set(topics.flatMap((each) => [...each?.keys() ?? []]))],
        lastAliveAt: entry.lastAliveAt,
        gone: !entry.alive,
      };
    });
  }

  #touch(tag: string, now: number): Entry {
    let entry = this.#entries.get(tag);
    if (entry === undefined) {
      entry = { connections: new Map(), lastAliveAt: now, alive: false };
      this.#idle++;
    }
    this.#expire(entry, now);
    if (!entry.alive) this.#alive++;
    entry.alive = true;
    entry.lastAliveAt = now;
    // Moved to the end, so that the first is the one which has been silent longest.
    this.#entries.delete(tag);
    this.#entries.set(tag, entry);
    return entry;
  }

  #expire(entry: Entry, now: number): void {
    if (!entry.alive || now - entry.lastAliveAt <= this.#windowMs) return;
    entry.alive = false;
    this.#expired++;
  }

  /** Forgets the tags longest silent among those without a connection, many at a time. */
  #prune(): void {
    if (this.#idle <= 2 * MAX_IDLE) return;
    for (const [tag, entry] of this.#entries) {
      if (this.#idle <= MAX_IDLE) return;
      if (entry.connections.size > 0) continue;
      this.#entries.delete(tag);
      this.#idle--;
    }
  }
}
