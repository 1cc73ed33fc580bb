/**
 * What the parts of a journal share: the client, the API, the sequence.
 *
 * @module
 */
import { JournalError } from "../../errors/journal.ts";
import type { JetStreamApi } from "./api.ts";
import type { NatsClient } from "./connection.ts";
import type { Link } from "./link.ts";
import type { Sequence } from "./sequence.ts";
import type { JournalStream } from "./stream.ts";

/** What the parts of a journal share. */
export interface Store {
  /** The journal's name: that of its stream. */
  readonly name: string;
  /** The client. */
  readonly client: NatsClient;
  /** Whom to ask. */
  readonly api: JetStreamApi;
  /** Whether the server can be reached. */
  readonly link: Link;
  /** The stream. */
  readonly stream: JournalStream;
  /** Its epoch and window. */
  readonly sequence: Sequence;
  /** The most bytes that one message may have. */
  readonly messageBytes: number;
  /** The beginning of the subjects on which answers come. */
  readonly inboxPrefix: string;
}

/** A subject on which nobody else listens. */
export function newInbox({ inboxPrefix }: Pick<Store, "inboxPrefix">): string {
  return `${inboxPrefix}.${crypto.randomUUID().replaceAll("-", "")}`;
}

/** The end of a journal, of which many may want to hear: more than a signal likes to have. */
export class Closing {
  readonly #listeners = new Set<() => void>();
  #begun = false;

  /** Whether the journal has been closed. */
  get begun(): boolean {
    return this.#begun;
  }

  /**
   * Calls back when it is closed.
   *
   * @param listener What to call.
   * @returns Stops that.
   */
  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** It is closed now. */
  begin(): void {
    this.#begun = true;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** What is thrown when the journal was closed. */
export function closedError(): JournalError {
  return new JournalError("closed", "it has been closed");
}
