/**
 * Who receives what: an index by topic, so that publishing costs only those who listen.
 *
 * @module
 */

import type { Topics } from "./topics.ts";

/** What the index asks of a member. */
export interface Subscriber {
  /** What it listens to; `null` for one that receives everything. */
  readonly topics: Topics;
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
   * @param member The member; while it is one its topics change by {@linkcode join} and
   * {@linkcode leave} only.
   */
  add(member: T): void {
    this.#members.add(member);
    if (member.topics === null) {
      this.#everything.add(member);
      return;
    }
    for (const topic of member.topics.keys()) this.join(member, topic);
  }

  /**
   * A member listens to one more topic.
   *
   * @param member The member; one that receives everything has no need of it.
   * @param topic The topic.
   */
  join(member: T, topic: string): void {
    const listeners = this.#byTopic.get(topic);
    if (listeners === undefined) this.#byTopic.set(topic, new Set([member]));
    else listeners.add(member);
  }

  /**
   * A member listens to a topic no longer.
   *
   * @param member The member.
   * @param topic The topic; one that it does not listen to does no harm.
   */
  leave(member: T, topic: string): void {
    const listeners = this.#byTopic.get(topic);
    listeners?.delete(member);
    if (listeners?.size === 0) this.#byTopic.delete(topic);
  }

  /**
   * Removes a member.
   *
   * @param member The member; one that is none does no harm.
   */
  delete(member: T): void {
    if (!this.#members.delete(member)) return;
    if (member.topics === null) {
      this.#everything.delete(member);
      return;
    }
    for (const topic of member.topics.keys()) this.leave(member, topic);
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
