/**
 * How the stream must be set up: what is asked for when it is made, and what is refused when it was
 * made by somebody else.
 *
 * @module
 */
import type { Retention } from "../retention.ts";

/** What is read of a stream's configuration. Servers leave out what they do not know. */
export interface StreamConfig {
  readonly name: string;
  readonly subjects?: readonly string[];
  readonly storage?: string;
  readonly retention?: string;
  readonly discard?: string;
  readonly discard_new_per_subject?: boolean;
  readonly max_msgs_per_subject?: number;
  readonly max_msgs?: number;
  readonly max_bytes?: number;
  readonly max_age?: number;
  readonly max_msg_size?: number;
  readonly num_replicas?: number;
  readonly duplicate_window?: number;
  readonly deny_delete?: boolean;
  readonly allow_direct?: boolean;
  readonly no_ack?: boolean;
  readonly sealed?: boolean;
  readonly allow_rollup_hdrs?: boolean;
  readonly allow_msg_ttl?: boolean;
  readonly allow_msg_counter?: boolean;
  readonly allow_msg_schedules?: boolean;
  readonly subject_delete_marker_ttl?: number;
  readonly subject_transform?: object;
  readonly persist_mode?: string;
  readonly mirror?: object;
  readonly sources?: readonly object[];
}

/** The bounds of a stream, as JetStream writes them. */
export interface StreamLimits {
  readonly max_msgs: number;
  readonly max_bytes: number;
  readonly max_age: number;
  readonly duplicate_window: number;
}

const NANOS_PER_MS = 1_000_000;

/** For how long the id of a message is known, in milliseconds. */
const DUPLICATE_WINDOW_MS = 120_000;

/** The smallest age that JetStream takes, in milliseconds. */
const MIN_AGE_MS = 100;

/**
 * The bounds of a stream.
 *
 * @param retention What is to be kept.
 * @returns The same as JetStream has it.
 */
export function toLimits({ maxEntries, maxBytes, maxAgeMs }: Retention): StreamLimits {
  const ageMs = Math.max(MIN_AGE_MS, maxAgeMs);
  return {
    max_msgs: Number.isFinite(maxEntries) ? maxEntries : -1,
    max_bytes: Number.isFinite(maxBytes) ? maxBytes : -1,
    max_age: Number.isFinite(ageMs) ? ageMs * NANOS_PER_MS : 0,
    // JetStream refuses a window above the age.
    duplicate_window: Math.min(DUPLICATE_WINDOW_MS, ageMs) * NANOS_PER_MS,
  };
}

/**
 * The configuration of a new stream.
 *
 * @param name The journal's name.
 * @param retention What is to be kept.
 * @param replicas How many servers keep it.
 */
export function newStream(name: string, retention: Retention, replicas: number): StreamConfig {
  return {
    name,
    subjects: [`${name}.*`],
    storage: "file",
    retention: "limits",
    discard: "old",
    num_replicas: replicas,
    ...toLimits(retention),
  };
}

/**
 * Whether a stream has these bounds.
 *
 * @param config The stream's configuration.
 * @param limits The bounds.
 */
export function hasLimits(config: StreamConfig, limits: StreamLimits): boolean {
  return config.max_msgs === limits.max_msgs && config.max_bytes === limits.max_bytes &&
    config.max_age === limits.max_age && config.duplicate_window === limits.duplicate_window;
}

/**
 * Why a stream cannot be a journal.
 *
 * @param config Its configuration.
 * @returns The reason; `null` when it can.
 */
export function hazard(config: StreamConfig): string | null {
  const { storage, retention, subjects = [], max_age = 0, duplicate_window = 0 } = config;
  const subject = `${config.name}.*`;
  const window = Math.min(DUPLICATE_WINDOW_MS * NANOS_PER_MS, max_age > 0 ? max_age : Infinity);
  const rules: readonly (readonly [broken: boolean, reason: string])[] = [
    [storage !== "file", `its storage is ${storage}: a restart would lose all of it`],
    [retention !== "limits", `its retention is ${retention}: entries vanish once they were read`],
    [
      subjects.length !== 1 || subjects[0] !== subject,
      `its subjects are ${JSON.stringify(subjects)}, not only ${subject}`,
    ],
    [(config.max_msgs_per_subject ?? -1) > 0, "max_msgs_per_subject drops entries from the middle"],
    [config.discard_new_per_subject === true, "discard_new_per_subject refuses single topics"],
    [config.allow_rollup_hdrs === true, "allow_rollup_hdrs lets a message replace others"],
    [config.allow_msg_ttl === true, "allow_msg_ttl drops entries from the middle"],
    [(config.subject_delete_marker_ttl ?? 0) > 0, "subject_delete_marker_ttl adds markers"],
    [config.allow_msg_counter === true, "allow_msg_counter changes what is stored"],
    [config.allow_msg_schedules === true, "allow_msg_schedules drops entries from the middle"],
    [config.subject_transform != null, "subject_transform changes the topics"],
    [config.mirror != null, "it mirrors another stream: nothing can be appended"],
    [(config.sources ?? []).length > 0, "its sources bring entries of other streams"],
    [config.no_ack === true, "no_ack: no append would ever be confirmed"],
    [config.sealed === true, "it is sealed: nothing can be appended"],
    [config.persist_mode === "async", "persist_mode async confirms what is not yet written"],
    [
      duplicate_window < window,
      `its duplicate_window is ${duplicate_window} ns, below ${window}: a repeated append would be ` +
      "stored twice",
    ],
  ];
  return rules.find(([broken]) => broken)?.[1] ?? null;
}
