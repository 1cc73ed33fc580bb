/**
 * What an application may publish.
 *
 * @module
 */
import { formatCursor } from "../wire/cursor.ts";
import { checkEventName, encodeFrame } from "../wire/frame.ts";
import { MAX_FRAME_BYTES, MAX_OFFSET } from "../wire/timing.ts";
import { checkTopic } from "../wire/topic.ts";
import type { PublishEvent } from "./types.ts";

/** An event whose name and topic may be sent; its data is checked as it is encoded. */
export interface CheckedEvent {
  /** Its topic; `""` for a broadcast. */
  readonly topic: string;
  /** Its name; `""` for none. */
  readonly name: string;
  /** Its data. */
  readonly data: string | Uint8Array;
}

/** The longest `id:` line that a frame can have. */
const LONGEST_CURSOR = formatCursor({ epoch: "f".repeat(16), offset: MAX_OFFSET });

/** Below this many characters no frame is too large: each is at most a line of its own. */
const SURELY_FITS = MAX_FRAME_BYTES / 16;

/**
 * Checks an event's name and topic.
 *
 * @param event The event.
 * @param keepaliveEvent The hub's keepalive name, which no event may carry.
 * @returns The event, with its defaults in place.
 * @throws {TypeError} When the name is not one that an application may use.
 * @throws {TopicError} When the topic is outside the grammar.
 */
export function checkEvent(event: PublishEvent, keepaliveEvent: string): CheckedEvent {
  const topic = event.topic ?? "";
  const name = event.name ?? "";
  checkEventName(name, keepaliveEvent);
  if (topic !== "") checkTopic(topic);
  return { topic, name, data: event.data };
}

/**
 * Checks that an event fits into a frame, whatever offset it will have.
 *
 * @param name Its name.
 * @param text Its data.
 * @throws {FrameTooLargeError} When it would not, with the longest id.
 */
export function checkSize(name: string, text: string): void {
  if (name.length + text.length > SURELY_FITS) encodeFrame(LONGEST_CURSOR, name, text);
}
