/**
 * A pod among its siblings: what it says, what it hears, and what it makes of what it does not hear.
 *
 * @module
 */
import { RelayError } from "../../errors/relay.ts";
import type { Timer } from "../../hub/clock.ts";
import type { Hub } from "../../hub/types.ts";
import { decodeEnvelope, type Envelope } from "../../relay/envelope.ts";
import type { Relay, RelayListener, RelaySubscription } from "../../relay/relay.ts";
import { errorForLog } from "../../wire/text.ts";
import type {
  CommandReply,
  ConnectionCommand,
  JournaledHub,
  RelayMembership,
  RelayMetrics,
  SiblingInfo,
} from "../types.ts";
import { Commands } from "./commands.ts";
import { Complaints } from "./complaints.ts";
import { Doubt } from "./doubt.ts";
import { listen } from "./listen.ts";
import { type RelayCounters, zeroCounters } from "./metrics.ts";
import type { JoinSettings } from "./options.ts";
import { Origins } from "./origins.ts";
import { Sender } from "./sender.ts";

/** For so long after the subscription siblings are met, in milliseconds; they answer at once. */
const YOUNG_MS = 1000;
/** The least time between two beats that answer somebody, and between two that clients are told. */
const LEAST_ANSWER_MS = 100;
const LEAST_REST_MS = 1000;

/** A pod that has joined, or is about to. */
export class Member implements RelayMembership {
  readonly ready: Promise<void>;
  readonly #hub: Hub | JournaledHub;
  readonly #settings: JoinSettings;
  readonly #counters: RelayCounters = zeroCounters();
  readonly #complaints: Complaints;
  readonly #sender: Sender;
  readonly #origins: Origins;
  readonly #doubt: Doubt;
  readonly #commands: Commands;
  readonly #detach: () => void;
  readonly #givenUp = new AbortController();
  #subscription: RelaySubscription | null = null;
  /** When the subscription was confirmed, on the monotonic clock; `null` before. */
  #since: number | null = null;
  #beats: Timer | null = null;
  #answer: Timer | null = null;
  #answeredAt = -Infinity;
  #leaving: Promise<void> | null = null;

  /**
   * @param hub The hub.
   * @param relay The relay.
   * @param settings How it joins.
   * @throws {TypeError} When the hub has siblings already.
   */
  constructor(hub: Hub | JournaledHub, relay: Relay, settings: JoinSettings) {
    const { origin, boot, clock, logger, beatMs, spreadMs } = settings;
    this.#hub = hub;
    this.#settings = settings;
    this.#complaints = new Complaints(logger, clock);
    this.#sender = new Sender(relay, { origin, boot }, this.#counters, this.#complaints);
    this.#origins = new Origins(beatMs);
    this.#doubt = new Doubt(clock, Math.max(spreadMs, LEAST_REST_MS), () => this.#tell());
    this.#commands = new Commands({
      ...{ hub, clock, counters: this.#counters, complaints: this.#complaints },
      say: (message) => this.#sender.say(message),
    });
    this.#detach = hub.relayTo(this.#sender);
    this.ready = this.#join(relay);
    // Who does not wait for it finds it in the log.
    this.ready.catch(() => {});
  }

  get origin(): string {
    return this.#settings.origin;
  }

  siblings(): readonly SiblingInfo[] {
    return this.#origins.siblings();
  }

  metrics(): RelayMetrics {
    return { ...this.#counters, siblings: this.#origins.siblings().length };
  }

  ask(command: ConnectionCommand, waitMs: number): Promise<CommandReply | null> {
    return this.#commands.ask(command, waitMs);
  }

  leave(): Promise<void> {
    return this.#leaving ??= this.#leave();
  }

  async #join(relay: Relay): Promise<void> {
    const { clock, readyMs, logger, beatMs } = this.#settings;
    try {
      this.#subscription = await listen(relay, this.#listener(), clock, readyMs, this.#givenUp);
      if (this.#givenUp.signal.aborted) await this.#abandon();
    } catch (error) {
      if (this.#leaving === null) {
        logger.error(`The relay could not be joined: ${errorForLog(error)}`);
        this.#leaving = Promise.resolve();
        // Siblings need not take it for a crash.
        if (this.#counters.sent > 0) this.#sender.say({ kind: "leave" });
        this.#end();
      }
      throw error;
    }
    this.#since = clock.monotonic();
    this.#beats = clock.every(beatMs, () => this.#beat());
    this.#ask();
    // Who was served before has missed what siblings published.
    if (Object.values(this.#hub.metrics().verdicts).some((served) => served > 0)) this.#lost();
  }

  /** It left in the very turns in which the broker's word came. */
  async #abandon(): Promise<never> {
    await this.#subscription?.close();
    throw this.#givenUp.signal.reason;
  }

  async #leave(): Promise<void> {
    this.#sender.say({ kind: "leave" });
    this.#end();
    this.#givenUp.abort(new RelayError("closed", "this pod has left it"));
    try {
      await this.#subscription?.close();
    } catch (error) {
      this.#settings.logger.warn(`The relay's subscription did not end: ${errorForLog(error)}`);
    }
  }

  /** The hub is by itself from now on. */
  #end(): void {
    this.#beats?.cancel();
    this.#answer?.cancel();
    this.#detach();
    this.#doubt.end();
    this.#commands.end();
  }

  #listener(): RelayListener {
    return {
      message: (bytes) => {
        if (this.#leaving !== null) return;
        try {
          this.#hear(bytes);
        } catch (error) {
          this.#complaints.warn("refused", `A message was not taken: ${errorForLog(error)}`);
        }
      },
      resumed: () => {
        if (this.#leaving !== null) return;
        this.#doubtAll("");
        // Those, too, that nobody here has heard of.
        this.#ask();
      },
    };
  }

  #hear(bytes: Uint8Array): void {
    const reading = decodeEnvelope(bytes);
    if (!("envelope" in reading)) return this.#unread(reading.fault, reading.reason);
    const { envelope } = reading;
    const { stamp } = envelope;
    const { origin, boot, clock } = this.#settings;
    if (stamp.boot === boot) {
      this.#counters.echoes++;
      return;
    }
    const { outcome, lost, twin } = this.#origins.hear(stamp, envelope, {
      at: clock.now(),
      young: this.#listensSince(YOUNG_MS),
    });
    if (outcome === "repeated") {
      this.#counters.duplicates++;
      return;
    }
    this.#counters.received++;
    // Its predecessor's last words come early.
    const ownTwin = stamp.origin === origin && !this.#listensSince(2 * this.#settings.beatMs);
    if (twin || ownTwin) {
      const text =
        `Two pods that live at the same time are called ${stamp.origin}: each start of ` +
        `one is taken for a crash of the other, and clients are sent away. Give each its own origin`;
      this.#complaints.once("error", "twin", text);
    }
    if (lost) this.#lost(stamp.boot);
    this.#doubt.heard(stamp.boot);
    this.#take(envelope);
  }

  #take(envelope: Envelope): void {
    switch (envelope.kind) {
      case "event":
        return this.#ingest(envelope);
      case "join":
        return this.#answerSoon();
      case "command":
        return this.#commands.obey(envelope);
      case "reply":
        if (envelope.to === this.#settings.boot) this.#commands.take(envelope);
        return;
      case "beat":
      case "leave":
        return;
    }
  }

  #ingest(event: Envelope & { readonly kind: "event" }): void {
    const { topic, name, ephemeral, body: data, stamp } = event;
    if (!ephemeral && !isPlain(this.#hub)) {
      this.#counters.refused++;
      const text =
        `The pod ${stamp.origin} sends durable events over the relay, and this hub takes ` +
        `them from its journal: they are dropped. Give all pods of a relay the same journal, or none`;
      return this.#complaints.once("warn", "mixed", text);
    }
    try {
      this.#hub.ingest({ topic, name, data, ephemeral });
    } catch (error) {
      this.#counters.refused++;
      this.#complaints.warn("refused", `A sibling's event was refused: ${errorForLog(error)}`);
      // Its clients have it, and those here have not.
      if (!ephemeral) this.#lost(stamp.boot);
    }
  }

  #unread(fault: "version" | "malformed", reason: string): void {
    if (fault === "malformed") {
      this.#counters.malformed++;
      return this.#complaints.warn("malformed", `A message is no envelope: ${reason}`);
    }
    this.#counters.foreign++;
    const text = `Envelopes that this version of the library cannot read are ignored: ${reason}`;
    this.#complaints.once("warn", "version", text);
  }

  /** @param by Who made it known: it need not be asked. */
  #lost(by = ""): void {
    if (this.#doubtAll(by)) this.#ask();
  }

  /** Says whether there is somebody to be asked. */
  #doubtAll(by: string): boolean {
    if (!isPlain(this.#hub)) return false;
    const boots = this.#origins.siblings().map(({ boot }) => boot);
    return this.#doubt.raise(boots.filter((boot) => boot !== by));
  }

  #ask(): void {
    this.#sender.say({ kind: "join", beatMs: this.#settings.beatMs });
  }

  #tell(): void {
    const { spreadMs } = this.#settings;
    const hub = this.#hub;
    if (!isPlain(hub)) return;
    if (hub.gap({ spreadMs }) === 0) return;
    this.#counters.gaps++;
    this.#complaints.warn("lost", "Events of other pods were lost on the way: clients are told");
  }

  #beat(): void {
    const { beatMs } = this.#settings;
    this.#sender.say({ kind: "beat", beatMs });
    if (this.#origins.pass(beatMs)) this.#lost();
  }

  /** One beat answers all who ask, and nobody can make this pod send without end. */
  #answerSoon(): void {
    if (this.#answer !== null) return;
    const { clock, beatMs } = this.#settings;
    const send = (): void => {
      this.#answer = null;
      this.#answeredAt = clock.monotonic();
      this.#sender.say({ kind: "beat", beatMs });
    };
    const waitMs = this.#answeredAt + LEAST_ANSWER_MS - clock.monotonic();
    if (waitMs <= 0) send();
    else this.#answer = clock.after(waitMs, send);
  }

  /** Whether the subscription was confirmed less than so many milliseconds ago, or not yet. */
  #listensSince(ms: number): boolean {
    return this.#since === null || this.#settings.clock.monotonic() - this.#since < ms;
  }
}

function isPlain(hub: Hub | JournaledHub): hub is Hub {
  return "gap" in hub;
}
