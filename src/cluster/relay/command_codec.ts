/**
 * Commands and their answers as bytes: JSON, read as strictly as a request's.
 *
 * @module
 */
import { checkHistory } from "../../hub/late_joiner.ts";
import type { HistoryRequest } from "../../hub/types.ts";
import { readCursor } from "../../wire/cursor.ts";
import { type Verdict, VERDICTS } from "../../wire/hello.ts";
import { readObject } from "../../wire/json.ts";
import { encodeUtf8, forLog } from "../../wire/text.ts";
import { MAX_OFFSET } from "../../wire/timing.ts";
import { checkTopic } from "../../wire/topic.ts";
import type { CommandReply, ConnectionCommand } from "../types.ts";

/** The most characters that a user's id may have on its way to another pod. */
const MAX_USER_LENGTH = 256;
/** The most bytes of a refusal's reason. */
const MAX_REASON_BYTES = 512;
const CONNECTION = /^[A-Za-z0-9_-]{1,64}$/;
const decoder = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Writes a command.
 *
 * @param command The command.
 * @returns Its bytes; `null` when no pod would obey it: it names nobody, or no connection or topic.
 */
export function encodeCommand(command: ConnectionCommand): Uint8Array | null {
  const fields = command.do === "subscribe" && command.after !== undefined
    // A cursor that cannot be read is judged the same, whatever it is, and may be as long as it likes.
    ? { ...command, after: isCursor(command.after) ? command.after : "invalid" }
    : command;
  const { do: what, user } = fields;
  const rest = what === "disconnect"
    ? {}
    : { connection: fields.connection, topic: fields.topic, ...pastOf(fields) };
  return readCommandFields({ do: what, user, ...rest }) === null
    ? null
    : encodeUtf8(JSON.stringify({ do: what, user, ...rest }));
}

function pastOf(command: ConnectionCommand): Readonly<Record<string, unknown>> {
  if (command.do !== "subscribe") return {};
  const { history, after } = command;
  return { ...(history !== undefined && { history }), ...(after !== undefined && { after }) };
}

/**
 * Reads a command.
 *
 * @param bytes Any bytes.
 * @returns The command; `null` when they are none.
 */
export function decodeCommand(bytes: Uint8Array): ConnectionCommand | null {
  const fields = readJson(bytes);
  return fields === null ? null : readCommandFields(fields);
}

function readCommandFields(fields: Readonly<Record<string, unknown>>): ConnectionCommand | null {
  const { do: what, connection, topic, user, history, after } = fields;
  if (!isUser(user)) return null;
  if (what === "disconnect") return { do: what, user };
  if (what !== "subscribe" && what !== "unsubscribe") return null;
  if (typeof connection !== "string" || !CONNECTION.test(connection)) return null;
  if (typeof topic !== "string" || !holds(() => checkTopic(topic))) return null;
  if (what === "unsubscribe") return { do: what, connection, topic, user };
  if (
    after !== undefined && (typeof after !== "string" || !isCursor(after) && after !== "invalid")
  ) {
    return null;
  }
  if (!isHistory(history)) return null;
  return {
    ...{ do: what, connection, topic, user },
    ...(history !== undefined && { history }),
    ...(after !== undefined && { after }),
  };
}

function isUser(user: unknown): user is string {
  return typeof user === "string" && user.length >= 1 && user.length <= MAX_USER_LENGTH &&
    user.isWellFormed();
}

function isCursor(text: string): boolean {
  return text === "" || readCursor(text) !== null;
}

function isHistory(value: unknown): value is HistoryRequest | undefined {
  return holds(() => void checkHistory(value as HistoryRequest | undefined));
}

function holds(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}

/**
 * Writes an answer.
 *
 * @param reply The answer.
 * @returns Its bytes.
 */
export function encodeReply(reply: CommandReply): Uint8Array {
  const fields = reply.kind === "refused"
    ? { ...reply, reason: forLog(reply.reason, MAX_REASON_BYTES) }
    : reply;
  return encodeUtf8(JSON.stringify(fields));
}

/**
 * Reads an answer.
 *
 * @param bytes Any bytes.
 * @returns The answer; `null` when they are none.
 */
export function decodeReply(bytes: Uint8Array): CommandReply | null {
  const { kind, verdict, head, listened, error, reason } = readJson(bytes) ?? {};
  switch (kind) {
    case "subscribed":
      if (!isVerdict(verdict) || !isOffset(head)) return null;
      return { kind, verdict, head };
    case "unsubscribed":
      return typeof listened === "boolean" ? { kind, listened } : null;
    case "refused":
      if (error !== "topic" && error !== "journal" && error !== "type" && error !== "failed") {
        return null;
      }
      if (typeof reason !== "string") return null;
      return { kind, error, reason: forLog(reason, MAX_REASON_BYTES) };
    default:
      return null;
  }
}

function isVerdict(value: unknown): value is Verdict {
  return VERDICTS.some((verdict) => verdict === value);
}

function isOffset(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_OFFSET;
}

function readJson(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    return readObject(decoder.decode(bytes));
  } catch {
    return null;
  }
}
