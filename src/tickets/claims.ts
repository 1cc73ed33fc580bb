/**
 * What a ticket may stand for: checked when it is minted, and again when it is read back.
 *
 * @module
 */
import { TopicError } from "../errors.ts";
import { TicketError } from "../errors/ticket.ts";
import { hasUnsafeCharacter } from "../wire/text.ts";
import { checkTopic, MAX_TOPICS } from "../wire/topic.ts";
import type { Claims } from "./types.ts";

/** The most characters of a user, an account or a session. */
export const MAX_NAME_LENGTH = 256;

/**
 * Checks what a ticket is to stand for.
 *
 * @param claims What the application passed.
 * @param now The time, in milliseconds since the Unix epoch.
 * @returns A copy of the claims, and of nothing else that stood beside them.
 * @throws {TicketError} `claims`, naming the field and its bound, never its value.
 */
export function checkClaims(claims: Claims, now: number): Claims {
  const checked = examine(claims, now);
  if (typeof checked === "string") throw new TicketError("claims", checked);
  return checked;
}

/**
 * Reads claims that a store has kept.
 *
 * @param value What it gave back.
 * @param now The time, in milliseconds since the Unix epoch.
 * @returns The claims; `null` when a ticket may not stand for that, or not any more.
 */
export function readClaims(value: unknown, now: number): Claims | null {
  const checked = examine(value, now);
  return typeof checked === "string" ? null : checked;
}

/** The claims, or what is wrong with them. */
function examine(value: unknown, now: number): Claims | string {
  if (typeof value !== "object" || value === null) return "the claims are no object";
  // As a program without types may have made it: each field is looked at once, and copied.
  const { user, account, session, topics, expiresAt } = value as Record<string, unknown>;
  if (user === undefined) return "there is no user";
  for (const [field, name] of Object.entries({ user, account, session })) {
    const fault = name === undefined ? null : nameFault(name);
    if (fault !== null) return `the ${field} ${fault}`;
  }
  const checked = examineTopics(topics);
  if (typeof checked === "string") return checked;
  if (expiresAt !== undefined) {
    if (typeof expiresAt !== "number" || !Number.isFinite(expiresAt)) {
      return "expiresAt is no finite number of milliseconds since the Unix epoch";
    }
    if (!(expiresAt > now)) return "expiresAt is not in the future";
  }
  return {
    user: user as string,
    ...(account === undefined ? {} : { account: account as string }),
    ...(session === undefined ? {} : { session: session as string }),
    topics: checked,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

function nameFault(name: unknown): string | null {
  if (typeof name !== "string") return "is no string";
  if (name.length === 0 || name.length > MAX_NAME_LENGTH) {
    return `has ${name.length} characters, it must be 1 to ${MAX_NAME_LENGTH}`;
  }
  if (hasUnsafeCharacter(name)) return "holds a control, line-separator or bidi character";
  return name.isWellFormed() ? null : "holds a lone surrogate";
}

/** An empty list means everything to a hub, and so does the topic `""`: neither is let through. */
function examineTopics(topics: unknown): readonly string[] | string {
  if (!Array.isArray(topics)) return "the topics are no list";
  if (topics.length === 0 || topics.length > MAX_TOPICS) {
    return `there are ${topics.length} topics, there must be 1 to ${MAX_TOPICS}`;
  }
  const copy: string[] = [];
  for (const topic of topics as readonly unknown[]) {
    if (typeof topic !== "string") return "a topic is no string";
    try {
      checkTopic(topic);
    } catch (error) {
      if (!(error instanceof TopicError)) throw error;
      return error.message;
    }
    copy.push(topic);
  }
  return copy;
}
