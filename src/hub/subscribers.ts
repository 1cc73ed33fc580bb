/**
 * Who receives what: an index by topic, so that publishing costs only those who listen.
 *
 * @module
 */

/** What the index asks of a member. */
export interface Subscriber {
  /** Who it is; `topics` is `null` for one that receives everything. */
  readonly identity: { readonly topics: readonly string[] | null };
}

/** The members, and which of them listen to each topic. */
export class Subscribers<T extends Subscriber> {
  readonly #members = new Set<T>();
  /** Those that receive everything. */
  readonly #everything = new Set<T>();
  readonly #byTopic = new Map<string, Set<T>>();

  /** How many members there are. */
  get size(): number {
    return this.#members.size;
  }

  /**
   * Adds a member.
   *
   * @param member The member; its topics must not change while it is one.
   */
  add(member: T): void {
    this.#members.add(member);
    const { topics } = member.identity;
    if (topics === null) {
      this.#everything.add(member);
      return;
    }
    for (const topic of topics) {
      const listeners = this.#byTopic.get(topic);
      if (listeners === undefined) this.#byTopic.set(topic, new Set([member]));
      else listeners.add(member);
    }
  }

  /**
   * Removes a member.
   *
   * @param member The member; one that is none does no harm.
   */
  delete(member: T): void {
    if (!this.#members.delete(member)) return;
    const { topics } = member.identity;
    if (topics === null) {
      this.#everything.delete(member);
      return;
    }
    for (const topic of topics) {
      const listeners = this.#byTopic.get(topic);
      listeners?.delete(member);
      if (listeners?.size === 0) this.#byTopic.delete(topic);
    }
  }

  /**
   * Calls back for each member that receives an event of a topic. Members may be removed meanwhile.
   *
   * @param topic The topic; `""` reaches all.
   * @param callback What to call.
   */
  each(topic: string, callback: (member: T) => void): void {
    if (topic === "") {
      this.#members.forEach(callback);
      return;
    }
    this.#everything.forEach(callback);
    this.#byTopic.get(topic)?.forEach(callback);
  }

  /** All members; removing some meanwhile does no harm. */
  [Symbol.iterator](): Iterator<T> {
    return this.#members.values();
  }

  /** How many members listen to each topic; `""` counts those that receive everything. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    if (this.#everything.size > 0) counts.set("", this.#everything.size);
    for (const [topic, listeners] of this.#byTopic) counts.set(topic, listeners.size);
    return counts;
  }
}
