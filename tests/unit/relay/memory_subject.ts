/**
 * The subjects of the suite that need no broker.
 *
 * @module
 */
import { createBroadcastChannelRelay } from "../../../src/relay/broadcast_channel.ts";
import type { RelaySubject } from "../../../src/relay/conformance.ts";
import { createMemoryRelayBus } from "../../../src/relay/memory.ts";
import { RelayWorld } from "../../support/relay_world.ts";

/** Relays in memory, with a bound, so that it is put to the test. */
export const memorySubject: RelaySubject = {
  makeAudience() {
    const bus = createMemoryRelayBus({ maxBytes: 2 * 1024 * 1024 });
    return Promise.resolve({
      connect: () => Promise.resolve(bus.connect()),
      dispose: () => Promise.resolve(),
    });
  },
};

/** Relays over a channel of a name that nobody else uses. */
export const channelSubject: RelaySubject = {
  makeAudience() {
    const name = crypto.randomUUID();
    return Promise.resolve({
      connect: () => Promise.resolve(createBroadcastChannelRelay(name)),
      dispose: () => Promise.resolve(),
    });
  },
};

/** The relays that other tests are run on. */
export const worldSubject: RelaySubject = {
  hooks: ["interrupt"],
  makeAudience() {
    const world = new RelayWorld({ maxBytes: 2 * 1024 * 1024 });
    const pods: string[] = [];
    return Promise.resolve({
      connect() {
        const pod = `pod-${pods.length}`;
        pods.push(pod);
        return Promise.resolve(world.relay(pod));
      },
      interrupt() {
        world.interrupt(...pods);
        return Promise.resolve();
      },
      restore() {
        world.restore();
        return Promise.resolve();
      },
      dispose: () => Promise.resolve(),
    });
  },
};
