/**
 * Waiting for a broker that confirms, but not for ever.
 *
 * @module
 */
import { RelayError } from "../../errors/relay.ts";
import type { Clock } from "../../hub/clock.ts";
import type { Relay, RelayListener, RelaySubscription } from "../../relay/relay.ts";

/**
 * Listens to a relay.
 *
 * @param relay The relay. It need not heed a signal: what it confirms too late is ended at once.
 * @param listener Who listens.
 * @param clock The clock.
 * @param readyMs How long the confirmation is waited for, in milliseconds.
 * @param givenUp Gives it up, with a {@linkcode RelayError} as its reason.
 * @returns The subscription, once it is confirmed.
 * @throws {RelayError} `unavailable` when the time is over; or why it was given up or refused.
 */
export async function listen(
  relay: Relay,
  listener: RelayListener,
  clock: Clock,
  readyMs: number,
  givenUp: AbortController,
): Promise<RelaySubscription> {
  const { signal } = givenUp;
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort);
  });
  const timer = clock.after(readyMs, () => {
    const reason = `the broker has not confirmed the subscription within ${readyMs} ms`;
    givenUp.abort(new RelayError("unavailable", reason));
  });
  // What a relay throws at once rejects, too.
  const listening = Promise.resolve().then(() => relay.listen(listener, { signal }));
  try {
    const subscription = await Promise.race([listening, aborted]);
    signal.throwIfAborted();
    return subscription;
  } catch (error) {
    listening.then((late) => late.close()).catch(() => {});
    if (error instanceof RelayError) throw error;
    throw new RelayError("failed", "it did not take the subscription", error);
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", abort);
  }
}
