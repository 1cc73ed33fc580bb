/**
 * Acknowledgement of keepalives: so the server knows that somebody reads, not only that a socket is
 * open.
 *
 * @module
 */
import { post, type Sender } from "./post.ts";
import type { LifecycleRecord } from "./records.ts";
import type { TimingConfig } from "./timing.ts";
import type { AliveOptions } from "./types.ts";

/** What posts acknowledgements. */
export interface Acknowledger {
  /** A keepalive came. */
  beat(): void;
  /** Gives up what is on its way. */
  stop(): void;
}

/** What an acknowledger needs of its stream's options. */
export interface AcknowledgerOptions extends Sender {
  /** How many keepalives one stands for unless `alive` says. */
  readonly timing: Pick<TimingConfig, "aliveEveryBeats">;
}

/**
 * Makes an acknowledger. It has one request on its way at most: a server that does not answer is not
 * asked again, and the next keepalive is counted as ever.
 *
 * @param alive Where, and how often.
 * @param options The stream's options.
 * @param report Takes the record of each.
 * @returns The acknowledger.
 */
export function createAcknowledger(
  { url, everyBeats }: AliveOptions,
  options: AcknowledgerOptions,
  report: (record: LifecycleRecord) => void,
): Acknowledger {
  const every = everyBeats ?? options.timing.aliveEveryBeats;
  let beats = 0;
  let posting: AbortController | null = null;
  const acknowledge = async (controller: AbortController): Promise<void> => {
    let status: number | null = null;
    try {
      const response = await post(options, url, controller.signal);
      status = response.status;
      await response.body?.cancel();
    } catch {
      // The record says it: a failed acknowledgement is never an exception.
    }
    if (posting === controller) posting = null;
    if (controller.signal.aborted) return;
    const ok = status !== null && status >= 200 && status < 300;
    report({ kind: "alive_ack", ok, status });
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
