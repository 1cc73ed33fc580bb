/**
 * Acknowledgement of keepalives: so the server knows that somebody reads, not only that a socket is
 * open.
 *
 * @module
 */
import { post } from "./post.ts";
import type { LifecycleRecord } from "./records.ts";
import type { AliveOptions, Fetch, HeadersSource } from "./types.ts";

/** What posts acknowledgements. */
export interface Acknowledger {
  /** A keepalive came. */
  beat(): void;
  /** Gives up what is on its way. */
  stop(): void;
}

/** What an acknowledger needs. */
export interface AcknowledgerOptions {
  /** Where, and how often. */
  readonly alive: AliveOptions;
  /** How many keepalives one stands for unless `alive` says. */
  readonly everyBeats: number;
  /** The stream's headers. */
  readonly headers: HeadersSource | undefined;
  /** The stream's credentials mode. */
  readonly credentials: RequestCredentials | undefined;
  /** What posts. */
  readonly fetch: Fetch;
  /** Takes the record of each. */
  readonly report: (record: LifecycleRecord) => void;
}

/**
 * Makes an acknowledger. It has one request on its way at most: a server that does not answer is not
 * asked again, and the next keepalive is counted as ever.
 *
 * @param options Where, how often, and with what.
 * @returns The acknowledger.
 */
export function createAcknowledger(options: AcknowledgerOptions): Acknowledger {
  const every = options.alive.everyBeats ?? options.everyBeats;
  let beats = 0;
  let posting: AbortController | null = null;
  const acknowledge = async (controller: AbortController): Promise<void> => {
    let status: number | null = null;
    try {
      const { alive: { url }, headers, credentials, fetch } = options;
      const { signal } = controller;
      const response = await post({ url, headers, credentials, fetch, signal });
      status = response.status;
      await response.body?.cancel();
    } catch {
      // The record says it: a failed acknowledgement is never an exception.
    }
    if (posting === controller) posting = null;
    if (controller.signal.aborted) return;
    const ok = status !== null && status >= 200 && status < 300;
    options.report({ kind: "alive_ack", ok, status });
  };
  return {
    beat() {
      if (++beats < every) return;
      beats = 0;
      if (posting !== null) return;
      posting = new AbortController();
      void acknowledge(posting);
    },
    stop() {
      beats = 0;
      posting?.abort();
      posting = null;
    },
  };
}
