/**
 * Pods on a relay of a test's own, with a clock that stands still.
 *
 * @module
 */
import { joinRelay } from "../../../src/cluster/join_relay.ts";
import type { JoinOptions, JournaledHub, RelayMembership } from "../../../src/cluster/types.ts";
import { createHub } from "../../../src/hub/hub.ts";
import type { HubOptions } from "../../../src/hub/options.ts";
import type { Hub } from "../../../src/hub/types.ts";
import {
  decodeEnvelope,
  encodeEnvelope,
  type Envelope,
  type Message,
  type Stamp,
} from "../../../src/relay/envelope.ts";
import type { Relay } from "../../../src/relay/relay.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { RelayWorld } from "../../support/relay_world.ts";
import { Lines, RING, settle } from "../hub/harness.ts";

/** One pod. */
export interface Pod<H extends Hub | JournaledHub = Hub> {
  readonly hub: H;
  readonly relay: Relay;
  readonly membership: RelayMembership;
  readonly logger: Lines;
}

/** Pods, and what is between them. */
export class RelayBench {
  readonly clock = new FakeClock();
  readonly world: RelayWorld;
  /** Everything that was sent, once for each message. */
  readonly sent: Envelope[] = [];

  /** @param options The bound of a message. */
  constructor(options: { readonly maxBytes?: number } = {}) {
    this.world = new RelayWorld(options);
    this.world.fate = ({ from, to, message }) => {
      const reading = decodeEnvelope(message);
      if (from === to && "envelope" in reading) this.sent.push(reading.envelope);
      return "deliver";
    };
  }

  /** Starts a pod with a hub of its own, and lets its youth pass. */
  async pod(name: string, options: JoinOptions = {}, hub: HubOptions = {}): Promise<Pod> {
    const made = createHub({
      ...{ replay: RING, slow: "lag" },
      ...hub,
      ...{ clock: this.clock, logger: new Lines() },
    });
    const pod = this.join(name, made, options);
    await pod.membership.ready;
    await this.pass(1000);
    return pod;
  }

  /** Joins a hub. */
  join<H extends Hub | JournaledHub>(name: string, hub: H, options: JoinOptions = {}): Pod<H> {
    const logger = new Lines();
    const relay = this.world.relay(name);
    const settings = { origin: name, clock: this.clock, logger, ...options };
    return { hub, relay, logger, membership: joinRelay(hub, relay, settings) };
  }

  /** Lets time pass, in steps: what a timer sends arrives before the next one is due. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 250) {
      this.clock.advance(Math.min(250, ms - passed));
      await settle();
    }
  }

  /** Somebody who writes to the relay what a test says. */
  stranger(name: string): Stranger {
    return new Stranger(name, this.world.relay(name));
  }

  /** Ends pods. */
  async end(...pods: readonly Pod<Hub | JournaledHub>[]): Promise<void> {
    for (const { hub, membership, relay } of pods) {
      await hub.shutdown();
      await membership.leave();
      await relay.close();
    }
  }
}

/** Writes envelopes by hand. */
export class Stranger {
  /** Who it says it is. */
  stamp: Stamp;
  readonly #relay: Relay;

  /**
   * @param origin Its name.
   * @param relay Its relay.
   */
  constructor(origin: string, relay: Relay) {
    this.#relay = relay;
    this.stamp = { origin, boot: "5".repeat(16), seq: 0, n: 0 };
  }

  /** Sends an envelope. */
  async say(message: Message, n = this.stamp.n): Promise<void> {
    this.stamp = { ...this.stamp, seq: this.stamp.seq + 1, n };
    await this.raw(encodeEnvelope(this.stamp, message));
  }

  /** Sends bytes. */
  async raw(bytes: Uint8Array): Promise<void> {
    this.#relay.send(bytes);
    await settle();
  }
}

/** An event's message. */
export function event(data: string, more: Partial<Message> = {}): Message {
  const body = new TextEncoder().encode(data);
  return { kind: "event", topic: "", name: "", ephemeral: false, body, ...more } as Message;
}
