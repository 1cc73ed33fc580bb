/**
 * Every failure this library raises on purpose, one class per failure.
 *
 * Each carries a stable `code`, so that a program branches on the code and a person reads the
 * message, which names what was wrong and the bound it broke.
 *
 * @module
 */

/** What a {@linkcode TidemarkError} can be, as a stable string. */
export type ErrorCode =
  | "config"
  | "cursor"
  | "topic"
  | "frame_too_large"
  | "invalid_utf8"
  | "connection_gone"
  | "protocol"
  | "refused"
  | "digest_status"
  | "subscribe"
  | "gap"
  | "journal"
  | "append_unknown"
  | "journal_epoch"
  | "journal_gap"
  | "relay"
  | "ticket";

const capital = (start: string): string => start.slice(-1).toUpperCase();

/** The base of every error class of this library. */
export class TidemarkError extends Error {
  /** The stable name of the failure; it never changes between releases. */
  readonly code: ErrorCode;

  /**
   * Makes the error.
   *
   * @param code The stable name of the failure.
   * @param message What was wrong, and the bound it broke.
   */
  constructor(code: ErrorCode, message: string) {
    super(message);
    // From the code: the class's own name is another one once a page's code has been minified.
    this.name = `${code.replaceAll(/(?:^|_)./g, capital)}Error`;
    this.code = code;
  }
}

/**
 * An option, or a pair of options, that the library could not honour.
 *
 * Thrown while something is constructed, never later.
 *
 * @example
 * ```ts
 * import { assertThrows } from "@std/assert";
 * import { ConfigError, createHub } from "@tidemark/sse";
 *
 * const error = assertThrows(() => createHub({ replay: { maxEvents: 1024 } }), ConfigError);
 * console.log(error.option); // replay.ttlMs
 * ```
 */
export class ConfigError extends TidemarkError {
  /** The option that was refused, as it is written in the options object: `replay.ttlMs`. */
  readonly option: string;

  /**
   * Makes the error.
   *
   * @param option The option that was refused.
   * @param reason What is wrong with it, and the bound.
   */
  constructor(option: string, reason: string) {
    super("config", `Cannot use option ${option}: ${reason}`);
    this.option = option;
  }
}

/** A string that is not a cursor of the form `<epoch>:<offset>`. The message never repeats it. */
export class CursorError extends TidemarkError {
  /**
   * Makes the error.
   *
   * @param reason Which rule of the grammar was broken.
   */
  constructor(reason: string) {
    super("cursor", `Cannot parse the cursor: ${reason}`);
  }
}

/** A topic, or a list of topics, outside the grammar of the wire. */
export class TopicError extends TidemarkError {
  /**
   * Makes the error.
   *
   * @param reason Which rule was broken, and the bound.
   */
  constructor(reason: string) {
    super("topic", `Cannot use the topics: ${reason}`);
  }
}

/**
 * An encoded frame above the wire's cap. Refused before any state changed: no offset was consumed.
 *
 * Publish a small event that tells the client to fetch the rest.
 */
export class FrameTooLargeError extends TidemarkError {
  /** The size of the encoded frame in bytes, its blank line included. */
  readonly size: number;
  /** The largest size in bytes that a frame may have. */
  readonly cap: number;

  /**
   * Makes the error.
   *
   * @param size The size of the encoded frame in bytes.
   * @param cap The largest allowed size in bytes.
   */
  constructor(size: number, cap: number) {
    super("frame_too_large", `Cannot send the frame: it is ${size} bytes, the cap is ${cap}`);
    this.size = size;
    this.cap = cap;
  }
}

/**
 * Event data that is not Unicode text: bytes that are not UTF-8, or a string with a lone surrogate.
 * Refused before any state changed.
 */
export class InvalidUtf8Error extends TidemarkError {
  /** Where the data goes wrong: a byte index for bytes, a UTF-16 index for a string. */
  readonly index: number;

  /**
   * Makes the error.
   *
   * @param index The index of the first byte or code unit that is wrong.
   */
  constructor(index: number) {
    super("invalid_utf8", `Cannot send the data: it is not valid Unicode at index ${index}`);
    this.index = index;
  }
}

/** A write to a connection that has ended. */
export class ConnectionGoneError extends TidemarkError {
  /** Why the connection ended, as presence reports it: `dead`, `closed`, `evicted`, `shutdown`. */
  override readonly cause: string;

  /**
   * Makes the error.
   *
   * @param cause Why the connection ended.
   */
  constructor(cause: string) {
    super("connection_gone", `Cannot write to the connection: it has ended (${cause})`);
    this.cause = cause;
  }
}

/** Bytes from a peer that break the wire: a line or an event above its bound, or a bad hello. */
export class ProtocolError extends TidemarkError {
  /**
   * Makes the error.
   *
   * @param reason What the peer did, and the bound it broke.
   */
  constructor(reason: string) {
    super("protocol", `Cannot read the stream: ${reason}`);
  }
}

/**
 * There is no stream for this client, and asking again would not help.
 *
 * An application's `url` function rejects with it to stop the stream; `frames()` throws it when the
 * server refused for good.
 */
export class RefusedError extends TidemarkError {
  /** The status of the answer that says so; `null` when there was none. */
  readonly status: number | null;

  /**
   * Makes the error.
   *
   * @param reason Why there is none.
   * @param status The status of the answer that says so.
   */
  constructor(reason = "the server refused it", status: number | null = null) {
    super("refused", `Cannot open the stream: ${reason}`);
    this.status = status;
  }
}

/** A digest request that was not answered with 200. */
export class DigestStatusError extends TidemarkError {
  /** The status of the answer. */
  readonly status: number;

  /**
   * Makes the error.
   *
   * @param status The status of the answer.
   */
  constructor(status: number) {
    super("digest_status", `Cannot check the versions: the digest was answered with ${status}`);
    this.status = status;
  }
}

/** A topic that could not be subscribed, or unsubscribed, on a live stream. */
export class SubscribeError extends TidemarkError {
  /** The status of the answer; `null` when there was none. */
  readonly status: number | null;

  /**
   * Makes the error.
   *
   * @param reason Why not.
   * @param status The status of the answer.
   */
  constructor(reason: string, status: number | null = null) {
    super("subscribe", `Cannot change the subscription: ${reason}`);
    this.status = status;
  }
}

/**
 * Frames are missing, and nobody asked to be told of it: the end of a `frames()` loop without
 * `onGap`. Fetch what the frames were to keep up to date, then go on from {@linkcode GapError.to}.
 */
export class GapError extends TidemarkError {
  /** The verdict of the hello that did not resume; `lag` when the loop was too slow for the server. */
  readonly reason: string;
  /** How many frames are missing; `null` when it cannot be known. */
  readonly missed: number | null;
  /** The cursor before the gap, exclusive; `""` when there was none. */
  readonly from: string;
  /** The cursor at the gap's end, inclusive. */
  readonly to: string;

  /**
   * Makes the error.
   *
   * @param gap Why frames are missing, how many, and between which cursors.
   */
  constructor(
    gap: {
      readonly reason: string;
      readonly missed: number | null;
      readonly from: string;
      readonly to: string;
    },
  ) {
    const { reason, missed, from, to } = gap;
    super("gap", `Cannot go on: ${missed ?? "some"} frames are missing (${reason})`);
    this.reason = reason;
    this.missed = missed;
    this.from = from;
    this.to = to;
  }
}
