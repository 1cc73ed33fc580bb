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
  | "protocol";

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
    this.name = new.target.name;
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
