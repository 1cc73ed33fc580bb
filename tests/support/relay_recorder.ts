/**
 * A listener of a relay that a test reads.
 *
 * @module
 */
import type { RelayListener } from "../../src/relay/relay.ts";

/** Writes down what it hears, messages as text. */
export class RelayRecorder implements RelayListener {
  /** What has come, in its order. */
  readonly heard: string[] = [];
  /** How many interruptions were told. */
  told = 0;
  readonly #decoder = new TextDecoder();

  message(message: Uint8Array): void {
    this.heard.push(this.#decoder.decode(message));
  }

  resumed(): void {
    this.told++;
  }
}

/** A message of text. */
export function say(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/**
 * Runs a test while errors that nobody catches are collected, in the place of ending it. On Deno.
 *
 * @param body What is run.
 * @returns Their messages.
 */
export async function collectErrors(body: () => Promise<void>): Promise<readonly string[]> {
  const errors: string[] = [];
  const collect = (event: ErrorEvent): void => {
    event.preventDefault();
    errors.push(event.message);
  };
  globalThis.addEventListener("error", collect);
  try {
    await body();
  } finally {
    globalThis.removeEventListener("error", collect);
  }
  return errors;
}

/** Throws at each message. */
export function throwing(): RelayListener {
  return {
    message() {
      throw new RangeError("a listener's own");
    },
    resumed() {},
  };
}
