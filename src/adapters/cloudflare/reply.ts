/**
 * How what a hub's object was asked for comes back: the value, or the error that the hub threw.
 *
 * @module
 */
import {
  FrameTooLargeError,
  InvalidUtf8Error,
  type TidemarkError,
  TopicError,
} from "../../errors.ts";
import { AppendUnknownError, JournalError, type JournalFault } from "../../errors/journal.ts";

/** An error of the hub's, on its way to whom it concerns. */
type Refused =
  | { readonly code: "frame_too_large"; readonly size: number; readonly cap: number }
  | { readonly code: "invalid_utf8"; readonly index: number }
  | { readonly code: "topic" | "type"; readonly reason: string }
  | { readonly code: "journal"; readonly fault: JournalFault; readonly reason: string }
  | { readonly code: "append_unknown"; readonly id: string; readonly reason: string };

/**
 * Does what was asked, and answers.
 *
 * @param work Does it.
 * @returns The value, as JSON, or which of the errors it was that a hub throws.
 * @throws Whatever else the work threw.
 */
export async function reply(work: () => Promise<unknown>): Promise<Response> {
  try {
    return Response.json({ value: await work() });
  } catch (error) {
    const refused = describeError(error);
    if (refused === undefined) throw error;
    return Response.json(refused, { status: 422 });
  }
}

/**
 * What came of it, on the other side.
 *
 * @param response What {@linkcode reply} made, or what the platform put in its place.
 * @param what What was asked: "publish".
 * @returns The value.
 * @throws The error that the hub threw, or an `Error` when the object could not be reached.
 */
export async function readReply(response: Response, what: string): Promise<unknown> {
  if (response.status === 200) return (await response.json() as { value: unknown }).value;
  if (response.status === 422) throw errorOf(await response.json() as Refused);
  await response.body?.cancel();
  throw new Error(`Cannot ${what}: the hub's object answered ${response.status}`);
}

function describeError(error: unknown): Refused | undefined {
  if (error instanceof FrameTooLargeError) {
    return { code: "frame_too_large", size: error.size, cap: error.cap };
  }
  if (error instanceof InvalidUtf8Error) return { code: "invalid_utf8", index: error.index };
  if (error instanceof TopicError) return { code: "topic", reason: reasonOf(error) };
  if (error instanceof JournalError) {
    return { code: "journal", fault: error.fault, reason: reasonOf(error) };
  }
  if (error instanceof AppendUnknownError) {
    return { code: "append_unknown", id: error.id, reason: reasonOf(error) };
  }
  if (error instanceof TypeError) return { code: "type", reason: error.message };
  return undefined;
}

/** Without what its constructor puts before it: "Cannot X: ". */
function reasonOf({ message }: TidemarkError): string {
  return message.slice(message.indexOf(": ") + 2);
}

function errorOf(refused: Refused): Error {
  switch (refused.code) {
    case "frame_too_large":
      return new FrameTooLargeError(refused.size, refused.cap);
    case "invalid_utf8":
      return new InvalidUtf8Error(refused.index);
    case "topic":
      return new TopicError(refused.reason);
    case "type":
      return new TypeError(refused.reason);
    case "journal":
      return new JournalError(refused.fault, refused.reason);
    case "append_unknown":
      return new AppendUnknownError(refused.id, refused.reason);
  }
}
