/**
 * How a relay that is right becomes one that is wrong on purpose.
 *
 * @module
 */
import type { RelaySubject } from "../../../src/relay/conformance.ts";
import type { Relay } from "../../../src/relay/relay.ts";
import { RelayWorld } from "../../support/relay_world.ts";

/** Its bound is small, so that the suite can go above it. */
export const MAX_BYTES = 2 * 1024 * 1024;

/** What one flaw changes of a relay. */
export type Change = (relay: Relay) => Partial<Relay>;

/**
 * The relays of tests with a flaw, as the conformance suite takes them.
 *
 * @param change The flaw.
 * @param shared Whether all audiences are one.
 */
export function flawedSubject(change: Change, shared = false): RelaySubject {
  const common = new RelayWorld({ maxBytes: MAX_BYTES });
  let pods = 0;
  return {
    patienceMs: 200,
    hooks: ["interrupt"],
    makeAudience() {
      const world = shared ? common : new RelayWorld({ maxBytes: MAX_BYTES });
      const own: string[] = [];
      return Promise.resolve({
        connect() {
          const pod = `pod-${pods++}`;
          own.push(pod);
          const relay = world.relay(pod);
          return Promise.resolve({ ...plain(relay), ...change(relay) });
        },
        interrupt() {
          world.interrupt(...own);
          return Promise.resolve();
        },
        restore() {
          world.restore(...own);
          return Promise.resolve();
        },
        dispose: () => Promise.resolve(),
      });
    },
  };
}

/** A relay as an object whose methods can be replaced. */
function plain(relay: Relay): Relay {
  return {
    maxBytes: relay.maxBytes,
    send: (message) => relay.send(message),
    listen: (listener, options) => relay.listen(listener, options),
    close: () => relay.close(),
  };
}
