/**
 * The size of an event, as every bound of a journal counts it.
 *
 * @module
 */
import { utf8Length } from "../wire/text.ts";
import type { JournalEvent } from "./journal.ts";

/**
 * Counts the bytes of an event without making them.
 *
 * @param event The event.
 * @returns The bytes of UTF-8 that topic, name and data have together.
 */
export function eventBytes(
  { topic, name, data }: Pick<JournalEvent, "topic" | "name" | "data">,
): number {
  return utf8Length(topic) + utf8Length(name) + utf8Length(data);
}
