/**
 * One connection, and what may be known of it: whether it is up, and when it breaks.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import { toHex } from "../../wire/hex.ts";
import type { RedisConnection } from "./client.ts";
import { asJournalError, isUnknownScript } from "./faults.ts";

/** How long a question waits before it is refused, while the connection is away, in milliseconds. */
const AWAY_MS = 10;

/** A script, and the name by which the server knows it. */
export interface Script {
  /** Its text. */
  readonly text: string;
  /** The SHA-1 of its text, in lowercase hex. */
  readonly sha: string;
}

/**
 * Names a script as Redis does.
 *
 * @param text Its text.
 * @returns The script.
 */
export async function nameScript(text: string): Promise<Script> {
  const hash = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return { text, sha: toHex(new Uint8Array(hash)) };
}

/** A connection on which scripts are run. */
export class Link {
  readonly #connection: RedisConnection;
  readonly #key: string;
  readonly #timeoutMs: number;
  readonly #onClose = (): void => {
    for (const listener of [...this.#listeners]) listener();
  };
  readonly #listeners = new Set<() => void>();

  /**
   * Listens to the connection until {@linkcode Link.drop}.
   *
   * @param connection The connection.
   * @param key The key that all others are made from.
   * @param timeoutMs How long a question may take, in milliseconds.
   */
  constructor(connection: RedisConnection, key: string, timeoutMs: number) {
    this.#connection = connection;
    this.#key = key;
    this.#timeoutMs = timeoutMs;
    connection.on?.("close", this.#onClose);
    connection.on?.("-node", this.#onClose);
  }

  /**
   * Listens for the end of the connection: what was not answered may have been run, or not.
   *
   * @param listener Called each time.
   * @returns Ends the listening.
   */
  onBreak(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Why nothing is sent now; `null` when it is. */
  get away(): string | null {
    const { status } = this.#connection;
    if (status === undefined || status === "ready") return null;
    return `the connection to Redis is not ready, it is ${status}`;
  }

  /**
   * Runs a script: by its name, and by its text where the server does not know it.
   *
   * @param script The script.
   * @param args What it takes.
   * @returns Its reply.
   * @throws What the client threw.
   */
  async run(script: Script, args: readonly string[]): Promise<unknown> {
    const connection = this.#connection;
    try {
      return await connection.call("EVALSHA", script.sha, "1", this.#key, ...args);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return await connection.call("EVAL", script.text, "1", this.#key, ...args);
    }
  }

  /**
   * Runs a script that stores no event.
   *
   * @param script The script.
   * @param args What it takes.
   * @returns What it answers, without the `ok`.
   * @throws {JournalError} When it cannot be asked, does not answer in time, or finds something wrong.
   */
  async ask(script: Script, args: readonly string[]): Promise<readonly unknown[]> {
    const { away } = this;
    if (away !== null) {
      // Refused without delay, a reader that asks again at once would let nothing else run.
      await new Promise<void>((resolve) => setTimeout(resolve, AWAY_MS));
      throw new JournalError("unavailable", away);
    }
    // Some clients never answer what a connection has taken along.
    let leave = (): void => {};
    const broken = new Promise<never>((_, reject) => {
      const reason = "the connection to Redis broke before it answered";
      leave = this.onBreak(() => reject(new JournalError("unavailable", reason)));
    });
    try {
      return readReply(await this.#answer(Promise.race([this.run(script, args), broken])));
    } finally {
      leave();
    }
  }

  /**
   * Sends a command that stores no event.
   *
   * @param command Its name.
   * @param args Its arguments.
   * @returns The reply.
   * @throws {JournalError} When it cannot be sent, is refused, or is not answered in time.
   */
  command(command: string, ...args: string[]): Promise<unknown> {
    return this.#answer(this.#connection.call(command, ...args));
  }

  /** Listens no more. */
  drop(): void {
    this.#connection.off?.("close", this.#onClose);
    this.#connection.off?.("-node", this.#onClose);
  }

  /** Waits for a reply, for as long as a question may take. */
  async #answer<T>(reply: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const reason = `Redis did not answer within ${this.#timeoutMs} ms`;
      timer = setTimeout(
        () => reject(new JournalError("unavailable", reason)),
        this.#timeoutMs,
      );
    });
    try {
      return await Promise.race([reply, late]);
    } catch (error) {
      throw asJournalError(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Reads what a script answers.
 *
 * @param reply The reply.
 * @returns What follows the `ok`.
 * @throws {JournalError} When the script found something wrong.
 */
export function readReply(reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) {
    throw new JournalError("failed", `Redis answered a script with ${typeof reply}, not a list`);
  }
  const [word, ...rest]: unknown[] = reply;
  if (word === "ok") return rest;
  const text = String(rest[0]);
  if (word === "format") {
    throw new JournalError("format", `its data are of the format ${text}, which is not known here`);
  }
  if (word === "damaged") throw new JournalError("damaged", text);
  throw new JournalError("failed", "a script answered what this library does not know");
}
