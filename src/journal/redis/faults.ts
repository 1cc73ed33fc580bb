/**
 * What an error of a Redis client says about the store, and about a command that it answered.
 *
 * @module
 */
import { JournalError, type JournalFault } from "../../errors/journal.ts";
import { errorForLog } from "../../wire/text.ts";

/** The first words of the server's error replies that say more than `failed`. */
const REPLIES: Readonly<Record<string, JournalFault>> = {
  OOM: "full",
  WRONGTYPE: "damaged",
  LOADING: "unavailable",
  BUSY: "unavailable",
  READONLY: "unavailable",
  MASTERDOWN: "unavailable",
  CLUSTERDOWN: "unavailable",
  TRYAGAIN: "unavailable",
  NOREPLICAS: "unavailable",
  MOVED: "failed",
  ASK: "failed",
  ERR: "failed",
  MISCONF: "failed",
  NOAUTH: "failed",
  WRONGPASS: "failed",
  NOPERM: "failed",
  NOSCRIPT: "failed",
  EXECABORT: "failed",
  UNKILLABLE: "failed",
};

/** What clients throw for a command that they have not sent, and will not send. */
const NOT_SENT = /enableOfflineQueue|the client is (?:closed|offline)/i;

/**
 * What the server itself has answered.
 *
 * @param reply The text of an error, or what was thrown.
 * @returns What is the matter, or `null` when it is no reply of the server.
 */
export function replyFault(reply: unknown): JournalFault | null {
  const text = textOf(reply);
  // A script's own error, in the words of Redis 6: the command's error stands inside.
  const inner = /^ERR Error running script .*?: ([A-Z]+) /.exec(text)?.[1];
  const word = inner ?? /^([A-Z]+) /.exec(text)?.[1] ?? "";
  if (!Object.hasOwn(REPLIES, word)) return null;
  // Our scripts stumble over nothing but data that they have not written.
  if (/user_script:\d+: attempt to|specified in XADD is equal or smaller/.test(text)) {
    return "damaged";
  }
  return REPLIES[word] ?? null;
}

/**
 * Says whether the server knows the script.
 *
 * @param error What was thrown.
 * @returns Whether it does not: nothing was run.
 */
export function isUnknownScript(error: unknown): boolean {
  return textOf(error).startsWith("NOSCRIPT ");
}

/**
 * Says whether a command that was rejected has never left the client.
 *
 * @param error What was thrown.
 * @returns Whether that is certain.
 */
export function neverSent(error: unknown): boolean {
  return NOT_SENT.test(textOf(error));
}

/**
 * The error for a question that was not answered: nothing was to be stored.
 *
 * @param error What was thrown.
 * @returns The journal's error.
 */
export function asJournalError(error: unknown): JournalError {
  if (error instanceof JournalError) return error;
  return refused(error, replyFault(error) ?? "unavailable");
}

/**
 * The error for what Redis, or its client, has refused.
 *
 * @param reply What was thrown, or the text of an error reply.
 * @param fault What is the matter.
 * @returns The journal's error.
 */
export function refused(reply: unknown, fault: JournalFault): JournalError {
  const cause = typeof reply === "string" ? undefined : reply;
  return new JournalError(fault, `Redis: ${errorForLog(textOf(reply))}`, cause);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
