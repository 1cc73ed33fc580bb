/**
 * The hello: the first event of every connection, which says how the presented cursor was judged.
 *
 * @module
 */
import { ProtocolError } from "../errors.ts";
import { isEpoch, isOffset } from "./cursor.ts";
import { readObject } from "./json.ts";

/**
 * How a presented cursor was judged, in the order in which the rules are asked. A client branches on
 * {@linkcode Hello.resumed} alone; the verdict is for logs and counters.
 *
 * - `fresh`: none was presented.
 * - `cursor_invalid`: it did not parse.
 * - `epoch_changed`: another sequence issued it.
 * - `gap_ahead`: it is beyond the head.
 * - `gap_floor`: a frame this connection would have received is no longer held.
 * - `gap_budget`: all are held, but there are more than one reply may carry.
 * - `resumed`: every frame this connection missed follows the hello.
 */
export type Verdict =
  | "fresh"
  | "cursor_invalid"
  | "epoch_changed"
  | "gap_ahead"
  | "gap_floor"
  | "gap_budget"
  | "resumed";

/** Every verdict, in the order in which they are judged. */
export const VERDICTS: readonly Verdict[] = [
  "fresh",
  "cursor_invalid",
  "epoch_changed",
  "gap_ahead",
  "gap_floor",
  "gap_budget",
  "resumed",
];

/** What the hub tells a client first. */
export interface Hello {
  /** The revision of the wire: 1. */
  readonly wire: number;
  /** The epoch of the hub's sequence. */
  readonly epoch: string;
  /** The oldest offset the hub can replay, whatever the topics; 0 when it holds nothing. */
  readonly floor: number;
  /** The newest offset. */
  readonly head: number;
  /** Whether every missed frame follows. The only field to branch on. */
  readonly resumed: boolean;
  /** Why. */
  readonly verdict: Verdict;
  /** The interval between two keepalives, in milliseconds. */
  readonly keepaliveMs: number;
  /** The name of the keepalive event; `""` when it is a comment. */
  readonly keepaliveEvent: string;
  /** An unguessable id of this connection. */
  readonly connection?: string;
  /** Whether a repair follows: a snapshot that makes refetching unnecessary. */
  readonly repair?: boolean;
  /** Over how long clients should spread their revalidations, in milliseconds. */
  readonly revalidateSpreadMs?: number;
  /** The application's own epoch for the versions it hands out. */
  readonly versionEpoch?: string;
}

/**
 * Writes a hello as the data of an `sse:hello` frame.
 *
 * @param hello The hello; what is `undefined`, `false` or 0 among the optional fields is left out.
 * @returns JSON whose names are the wire's; offsets are decimal strings.
 */
export function formatHello(hello: Hello): string {
  return JSON.stringify({
    wire: hello.wire,
    epoch: hello.epoch,
    floor: String(hello.floor),
    head: String(hello.head),
    resumed: hello.resumed,
    verdict: hello.verdict,
    keepalive_ms: hello.keepaliveMs,
    keepalive_event: hello.keepaliveEvent,
    connection: hello.connection,
    repair: hello.repair || undefined,
    revalidate_spread_ms: hello.revalidateSpreadMs || undefined,
    version_epoch: hello.versionEpoch,
  });
}

/**
 * Reads the data of an `sse:hello` frame; unknown fields are ignored.
 *
 * @param data The frame's data.
 * @returns The hello.
 * @throws {ProtocolError} When a field is missing or outside its bound; the message names it.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { parseHello } from "@tidemark/sse";
 *
 * const hello = parseHello(
 *   '{"wire":1,"epoch":"00c0ffee00c0ffee","floor":"3","head":"9","resumed":true,' +
 *     '"verdict":"resumed","keepalive_ms":15000,"keepalive_event":"sse:keepalive"}',
 * );
 * assertEquals([hello.floor, hello.head, hello.verdict], [3, 9, "resumed"]);
 * ```
 */
export function parseHello(data: string): Hello {
  const raw = readObject(data);
  if (raw === null) throw new ProtocolError("the hello is not a JSON object");
  const field = <T>(name: string, ok: (value: unknown) => value is T): T => {
    const value = raw[name];
    if (!ok(value)) throw new ProtocolError(`the hello's ${name} is missing or out of bounds`);
    return value;
  };
  const optional = <T>(name: string, ok: (value: unknown) => value is T): T | undefined =>
    raw[name] === undefined ? undefined : field(name, ok);
  return {
    wire: field("wire", isCount),
    epoch: field("epoch", isEpochValue),
    floor: Number(field("floor", isOffsetText)),
    head: Number(field("head", isOffsetText)),
    resumed: field("resumed", isBoolean),
    verdict: field("verdict", isVerdict),
    keepaliveMs: field("keepalive_ms", isCount),
    keepaliveEvent: field("keepalive_event", isString),
    connection: optional("connection", isString),
    repair: optional("repair", isBoolean),
    revalidateSpreadMs: optional("revalidate_spread_ms", isCount),
    versionEpoch: optional("version_epoch", isEpochValue),
  };
}

const isString = (value: unknown): value is string => typeof value === "string";
const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;
const isEpochValue = (value: unknown): value is string => isString(value) && isEpoch(value);
const isOffsetText = (value: unknown): value is string => isString(value) && isOffset(value);
/** A verdict this revision does not know is a newer hub's: what counts is `resumed`. */
const isVerdict = (value: unknown): value is Verdict => isString(value);
