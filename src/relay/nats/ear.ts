/**
 * One pod's subscription to a subject.
 *
 * @module
 */
import { RelayError } from "../../errors/relay.ts";
import { Confirmer } from "../confirmer.ts";
import type { RelayListener } from "../relay.ts";
import type { NatsConnection, NatsSubscription } from "./connection.ts";

/** What an ear is made of. */
export interface EarOptions {
  /** Where it listens. */
  readonly connection: NatsConnection;
  /** To what. */
  readonly subject: string;
  /** For whom. */
  readonly listener: RelayListener;
  /** Whether the server can be reached. */
  readonly up: () => boolean;
}

/** A subscription, and its confirmation. */
export class Ear {
  /** What sees to its confirmation. */
  readonly confirmer: Confirmer;
  readonly #options: EarOptions;
  #subscription: NatsSubscription | null = null;
  #begun = false;
  #ended = false;

  /** @param options What it is made of. */
  constructor(options: EarOptions) {
    this.#options = options;
    this.confirmer = new Confirmer({
      confirm: () => this.#confirm(),
      resumed: () => options.listener.resumed(),
    });
  }

  /**
   * The server refuses what this pod sends: who is not heard must not begin.
   *
   * @param error What the first confirmation rejects with.
   */
  refusedToSpeak(error: RelayError): void {
    if (!this.#begun) this.end(error);
  }

  /**
   * Listens no more.
   *
   * @param reason Why, for who waits for the first confirmation.
   */
  end(reason: RelayError): void {
    this.#ended = true;
    this.confirmer.end(reason);
    this.#subscription?.unsubscribe();
    this.#subscription = null;
  }

  async #confirm(): Promise<void> {
    const { connection, subject, up } = this.#options;
    if (!up()) throw new RelayError("unavailable", "the NATS server cannot be reached");
    // The client itself subscribes again when it has reconnected, unless the server refused.
    this.#subscription ??= this.#subscribe();
    if (this.#begun) return await connection.flush();
    // Shows whether this pod may publish. No relay reads a message that asks for an answer; where the
    // answer would go nobody listens, for the server itself answers when it finds no reader.
    connection.publish(subject, new Uint8Array(), { reply: `${subject}.nowhere` });
    await connection.flush();
    // The client tells of a refusal some microtasks after the answer to the first question.
    await connection.flush();
    this.#begun = true;
  }

  #subscribe(): NatsSubscription {
    const { connection, subject, listener } = this.#options;
    return connection.subscribe(subject, {
      callback: (error, message) => {
        if (this.#ended) return;
        if (error !== null) {
          // The client has ended it.
          this.#subscription = null;
          this.confirmer.refuse(error);
        } else if (!message.reply) {
          // The client's bytes lie among others in a larger buffer, and its `slice` copies nothing.
          const bytes = new Uint8Array(message.data);
          // Thrown in the client's own turn, a listener's error would stop it from reading for good.
          queueMicrotask(() => {
            if (!this.#ended) listener.message(bytes);
          });
        }
      },
    });
  }
}
