/**
 * What a pod sends: stamped, counted, and checked before anybody has it.
 *
 * @module
 */
import { RelayError } from "../../errors/relay.ts";
import { checkSize } from "../../hub/event.ts";
import type { OutgoingEvent, Siblings } from "../../hub/types.ts";
import {
  encodeEnvelope,
  encodeHead,
  MAX_HEAD_BYTES,
  type Message,
  type Stamp,
} from "../../relay/envelope.ts";
import type { Relay } from "../../relay/relay.ts";
import { checkedText, encodeUtf8, errorForLog, utf8Length } from "../../wire/text.ts";
import { MAX_OFFSET } from "../../wire/timing.ts";
import type { Complaints } from "./complaints.ts";
import type { RelayCounters } from "./metrics.ts";

/** Below this many characters of topic and name, whatever they are, a head has its place. */
const SURELY_FITS = 600;
/** Below this many bytes no frame is too large, however its lines are broken. */
const SMALL_BYTES = 32_768;

/** Who sends. */
export interface Identity {
  readonly origin: string;
  readonly boot: string;
}

/** A pod's voice. */
export class Sender implements Siblings {
  readonly #relay: Relay;
  readonly #identity: Identity;
  readonly #counters: RelayCounters;
  readonly #complaints: Complaints;
  #seq = 0;
  #n = 0;

  /**
   * @param relay The relay.
   * @param identity Who sends.
   * @param counters Where it counts.
   * @param complaints Where it complains.
   */
  constructor(
    relay: Relay,
    identity: Identity,
    counters: RelayCounters,
    complaints: Complaints,
  ) {
    this.#relay = relay;
    this.#identity = identity;
    this.#counters = counters;
    this.#complaints = complaints;
  }

  check(event: OutgoingEvent): void {
    const { topic, name, data, ephemeral } = event;
    // On another pod its id may be longer than here.
    if (!ephemeral && name.length + data.length > SMALL_BYTES) checkSize(name, checkedText(data));
    const { maxBytes } = this.#relay;
    const most = typeof data === "string" ? 3 * data.length : data.length;
    const plain = topic.length + name.length <= SURELY_FITS;
    if (plain && most + MAX_HEAD_BYTES <= maxBytes) return;

    const longest: Stamp = { ...this.#identity, seq: MAX_OFFSET, n: MAX_OFFSET };
    const head = encodeHead(longest, { kind: "event", topic, name, ephemeral, body: NOTHING });
    if (head.length > MAX_HEAD_BYTES) {
      throw new RelayError(
        "too_large",
        `the event's name makes a head of ${head.length} bytes, the most is ${MAX_HEAD_BYTES}`,
      );
    }
    const size = head.length + (typeof data === "string" ? utf8Length(data) : data.length);
    if (size > maxBytes) {
      throw new RelayError("too_large", `the envelope is ${size} bytes, the most is ${maxBytes}`);
    }
  }

  send(event: OutgoingEvent): void {
    const { topic, name, data, ephemeral } = event;
    // Counted whether or not it can be sent: who misses it sees the hole.
    if (!ephemeral) this.#n++;
    const body = typeof data === "string" ? encodeUtf8(data) : data;
    this.say({ kind: "event", topic, name, ephemeral, body });
  }

  /**
   * Sends a message. It never throws.
   *
   * @param message What it says.
   */
  say(message: Message): void {
    const stamp: Stamp = { ...this.#identity, seq: ++this.#seq, n: this.#n };
    try {
      this.#relay.send(encodeEnvelope(stamp, message));
      this.#counters.sent++;
    } catch (error) {
      this.#counters.unsent++;
      this.#complaints.warn("unsent", `Siblings could not be told: ${errorForLog(error)}`);
    }
  }
}

const NOTHING: Uint8Array = new Uint8Array(0);
