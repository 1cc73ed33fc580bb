/**
 * JetStream's JSON API: a request on a subject below `$JS.API`, an answer that is the result or an
 * error with a number.
 *
 * @module
 */
import { JournalError, type JournalFault } from "../../errors/journal.ts";
import type { NatsConnection, NatsHeaders } from "./connection.ts";
import type { Link } from "./link.ts";

/** Errors of JetStream by their number, as far as something is done about one. */
export const JS_ERROR = {
  messageTooLarge: 10_054,
  messageNotFound: 10_037,
  streamNotFound: 10_059,
  streamNameInUse: 10_058,
  subjectsOverlap: 10_065,
  wrongLastSequence: 10_071,
} as const;

/** What says that there is no room, or that the store would not write: 10077 is "store failed". */
const FULL: ReadonlySet<number> = new Set([10_002, 10_023, 10_028, 10_047, 10_077]);

/** An error as JetStream answers it. */
export interface ApiError {
  /** A status as in HTTP. */
  readonly code: number;
  /** JetStream's number for it. */
  readonly err_code?: number;
  /** What it means. */
  readonly description?: string;
}

/** JetStream was asked, and refused. */
export class JetStreamRefusal extends JournalError {
  /** JetStream's number for the reason. */
  readonly errorCode: number;

  /**
   * Makes the error.
   *
   * @param what What was asked for.
   * @param error The answer.
   */
  constructor(what: string, error: ApiError) {
    const { code, err_code = 0, description = "no reason" } = error;
    super(
      faultOf(code, err_code),
      `JetStream refused ${what}: ${description} (${err_code || code})`,
    );
    // Whoever catches it knows the base.
    this.name = "JournalError";
    this.errorCode = err_code;
  }
}

function faultOf(code: number, errorCode: number): JournalFault {
  if (FULL.has(errorCode)) return "full";
  if (errorCode === JS_ERROR.messageTooLarge) return "too_large";
  // A stream that was deleted is made again.
  return code === 503 || errorCode === JS_ERROR.streamNotFound ? "unavailable" : "failed";
}

/**
 * Whether something was refused for one reason.
 *
 * @param error What was thrown.
 * @param errorCode JetStream's number for the reason.
 */
export function isRefusal(error: unknown, errorCode: number): boolean {
  return error instanceof JetStreamRefusal && error.errorCode === errorCode;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const NOTHING = new Uint8Array();

/** After how long without an answer something is asked again, in milliseconds. */
const AGAIN_MS = 1000;

/** How a message is sent. */
interface SendOptions {
  readonly headers?: NatsHeaders;
  readonly timeoutMs?: number;
}

/** Asks JetStream. */
export class JetStreamApi {
  readonly #connection: NatsConnection;
  readonly #link: Link;
  readonly #timeoutMs: number;

  /**
   * @param connection Over what.
   * @param link Whether it is up.
   * @param timeoutMs How long an answer may take, in milliseconds.
   */
  constructor(connection: NatsConnection, link: Link, timeoutMs: number) {
    this.#connection = connection;
    this.#link = link;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Asks for one thing.
   *
   * @param verb The subject below `$JS.API`: `STREAM.INFO.name`.
   * @param body What is sent along.
   * @returns The answer, of whose shape the server is believed.
   * @throws {JetStreamRefusal} When JetStream refuses.
   * @throws {JournalError} `unavailable` when it does not answer.
   */
  async ask<T>(verb: string, body?: object): Promise<T> {
    const payload = body === undefined ? NOTHING : encoder.encode(JSON.stringify(body));
    return await this.send<T>(`$JS.API.${verb}`, payload);
  }

  /**
   * Asks again when no answer has come for a while: a cluster says nothing of a stream that has no
   * leader yet. Only for what may be asked twice.
   *
   * @param verb The subject below `$JS.API`.
   * @returns The answer.
   * @throws As {@linkcode JetStreamApi.ask}, when the time for one answer is over.
   */
  async askAgain<T>(verb: string): Promise<T> {
    const deadline = performance.now() + this.#timeoutMs;
    for (;;) {
      const left = deadline - performance.now();
      try {
        const timeoutMs = Math.max(1, Math.min(left, AGAIN_MS));
        return await this.send<T>(`$JS.API.${verb}`, NOTHING, { timeoutMs });
      } catch (error) {
        const silent = !(error instanceof JetStreamRefusal) && this.#link.up;
        if (!silent || performance.now() >= deadline) throw error;
      }
    }
  }

  /**
   * Sends a message, and waits for what JetStream answers to it.
   *
   * @param subject Its subject.
   * @param payload Its bytes.
   * @param options Its headers, and how long the answer may take.
   * @returns The answer.
   * @throws {JetStreamRefusal} When JetStream refuses.
   * @throws {JournalError} `unavailable` when it does not answer.
   */
  async send<T>(subject: string, payload: Uint8Array, options: SendOptions = {}): Promise<T> {
    const { timeoutMs: timeout = this.#timeoutMs, headers } = options;
    const request = () =>
      this.#connection.request(subject, payload, { timeout, ...(headers && { headers }) });
    let data: Uint8Array;
    try {
      ({ data } = await this.#link.whileUp(request));
    } catch (error) {
      if (error instanceof JournalError) throw error;
      const reason = `JetStream does not answer ${subject} (${error})`;
      throw new JournalError("unavailable", reason, error);
    }
    return readAnswer<T>(subject, data);
  }

  /**
   * Sends a request without waiting for its answer: what is only tidiness.
   *
   * @param verb The subject below `$JS.API`.
   */
  tell(verb: string): void {
    try {
      if (this.#link.up) this.#connection.publish(`$JS.API.${verb}`, NOTHING);
    } catch {
      // The connection was closed: then there is nothing to tidy up.
    }
  }
}

/**
 * Reads an answer of JetStream: that of a request, or that to a message which was stored.
 *
 * @param what What was asked for.
 * @param data The answer's bytes.
 * @returns The answer.
 * @throws {JetStreamRefusal} When it is an error.
 * @throws {JournalError} `failed` when it is no answer of JetStream.
 */
export function readAnswer<T>(what: string, data: Uint8Array): T {
  let answer: T & { readonly error?: ApiError };
  try {
    answer = JSON.parse(decoder.decode(data));
  } catch (error) {
    throw new JournalError("failed", `the answer to ${what} is not JetStream's`, error);
  }
  if (answer.error !== undefined) throw new JetStreamRefusal(what, answer.error);
  return answer;
}
