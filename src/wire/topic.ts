/**
 * Topics: what an event is about, and what a connection listens to.
 *
 * @module
 */
import { TopicError } from "../errors.ts";
import { hasUnsafeCharacter } from "./text.ts";

/** The most topics that one connection may listen to. */
export const MAX_TOPICS = 256;

/** The most characters that a topic may have. */
export const MAX_TOPIC_LENGTH = 256;

/**
 * Checks one topic.
 *
 * @param topic 1 to 256 characters without control, line-separator or bidi characters.
 * @throws {TopicError} When it is anything else.
 */
export function checkTopic(topic: string): void {
  if (topic.length === 0 || topic.length > MAX_TOPIC_LENGTH) {
    throw new TopicError(`a topic has ${topic.length} characters, it must be 1 to 256`);
  }
  if (hasUnsafeCharacter(topic)) {
    throw new TopicError("a topic holds a control, line-separator or bidi character");
  }
  if (!topic.isWellFormed()) throw new TopicError("a topic holds a lone surrogate");
}

/**
 * The topics a connection listens to, from what the application passed.
 *
 * @param topics A list; none, an empty one or one of only `""` means everything.
 * @returns The distinct topics, or `null` for everything.
 * @throws {TopicError} When a topic is outside the grammar, `""` stands beside others, or there are
 * more than 256.
 */
export function checkTopics(topics: readonly string[] | undefined): readonly string[] | null {
  if (topics === undefined || topics.length === 0) return null;
  if (topics.length > MAX_TOPICS) {
    throw new TopicError(`there are ${topics.length}, the most is ${MAX_TOPICS}`);
  }
  if (topics.every((topic) => topic === "")) return null;
  for (const topic of topics) checkTopic(topic);
  return [...new Set(topics)];
}
