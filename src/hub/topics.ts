/**
 * What a connection listens to, and since when.
 *
 * A topic that is subscribed on a live connection is received from that moment on: what its history
 * covers must not come again while the connection catches up.
 *
 * @module
 */

/** Broadcasts and some topics, each with the offset after which it is received; `null`: everything. */
export type Topics = ReadonlyMap<string, number> | null;

/**
 * Topics that are all received since the same offset.
 *
 * @param topics Their names; `null` for everything.
 * @param since The offset after which they are received.
 * @returns The topics.
 */
export function topicsSince(
  topics: readonly string[] | null,
  since: number = 0,
): Map<string, number> | null {
  return topics === null ? null : new Map(topics.map((topic) => [topic, since]));
}

/**
 * The names, for presence and hooks.
 *
 * @param topics The topics.
 * @returns Their names; empty for everything.
 */
export function topicNames(topics: Topics): readonly string[] {
  return topics === null ? [] : [...topics.keys()];
}

/**
 * The names by which a journal is asked for what is received.
 *
 * @param topics The topics.
 * @returns Exactly these, the broadcasts' `""` included; `null` for everything.
 */
export function journalTopics(topics: Topics): readonly string[] | null {
  return topics === null ? null : ["", ...topics.keys()];
}

/**
 * Whether an event is received.
 *
 * @param topics What is listened to.
 * @param topic The event's topic.
 * @param offset Its offset.
 */
export function receives(topics: Topics, topic: string, offset: number): boolean {
  return topics === null || topic === "" || offset > (topics.get(topic) ?? Infinity);
}
