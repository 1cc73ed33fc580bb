/**
 * What a case works with: one audience, its pods, and what each of them hears.
 *
 * @module
 */
import type { Relay, RelayListener, RelaySubscription } from "../relay.ts";
import { expect } from "./expect.ts";
import type { RelayAudience, RelayHook, RelaySubject } from "./subject.ts";

const PATIENCE_MS = 10_000;

/** A case before it is bound to an implementation. */
export interface Draft {
  /** What it expects, as a sentence. */
  readonly name: string;
  /** The hooks that it needs. */
  readonly hooks?: readonly RelayHook[];
  /** What it does. */
  readonly body: (bench: Bench) => Promise<void>;
}

/** A pod that listens. */
export interface Pod {
  /** Its relay. */
  readonly relay: Relay;
  /** What it hears. */
  readonly ear: Recorder;
}

/** What a case works with. */
export class Bench {
  /** How long to wait for what must come about, in milliseconds. */
  readonly patienceMs: number;
  readonly #subject: RelaySubject;
  readonly #audiences: RelayAudience[] = [];
  readonly #relays: Relay[] = [];
  readonly #recorders: Recorder[] = [];

  /** @param subject The implementation. */
  constructor(subject: RelaySubject) {
    this.#subject = subject;
    this.patienceMs = subject.patienceMs ?? PATIENCE_MS;
  }

  /** Makes an audience; the bench disposes of it. */
  async audience(): Promise<RelayAudience> {
    const made = this.#subject.makeAudience();
    const audience = await this.within(made, "an audience to be made");
    this.#audiences.push(audience);
    for (const hook of this.#subject.hooks ?? []) {
      expect(
        audience[hook] !== undefined,
        `the audience to have ${hook}(), which its subject names`,
      );
      expect(audience.restore !== undefined, `the audience to have restore()`);
    }
    return audience;
  }

  /** Connects a pod that does not listen. */
  async connect(audience: RelayAudience): Promise<Relay> {
    const relay = await this.within(audience.connect(), "a pod to connect");
    this.#relays.push(relay);
    return relay;
  }

  /** Connects a pod that listens. */
  async pod(audience: RelayAudience): Promise<Pod> {
    const relay = await this.connect(audience);
    return { relay, ear: await this.listen(relay) };
  }

  /** Connects several. */
  async pods(audience: RelayAudience, count: number): Promise<readonly Pod[]> {
    return await Promise.all(Array.from({ length: count }, () => this.pod(audience)));
  }

  /** Listens on a relay until the case is over. */
  async listen(relay: Relay): Promise<Recorder> {
    const recorder = new Recorder(this.patienceMs);
    const listening = relay.listen(recorder);
    recorder.subscription = await this.within(listening, "a subscription to be confirmed");
    this.#recorders.push(recorder);
    return recorder;
  }

  /** Waits for a promise, but not for ever. */
  async within<T>(promise: Promise<T>, what: string): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = new Error(`Expected ${what} within ${this.patienceMs} ms`);
      timer = setTimeout(reject, this.patienceMs, error);
    });
    return await Promise.race([promise, late]).finally(() => clearTimeout(timer));
  }

  /** Stops listening, closes the relays and lets go of the audiences. */
  async end(): Promise<void> {
    for (const { subscription } of this.#recorders) {
      if (subscription !== null) await this.within(subscription.close(), "a subscription to close");
    }
    for (const relay of this.#relays) await this.within(relay.close(), "a relay to close");
    for (const audience of this.#audiences) {
      await this.within(audience.dispose(), "an audience to be disposed of");
    }
  }
}

/** Writes down what is heard. */
export class Recorder implements RelayListener {
  /** What has come, in its order. */
  readonly messages: Uint8Array[] = [];
  /** How many interruptions were told. */
  interruptions = 0;
  /** What ends the listening. */
  subscription: RelaySubscription | null = null;
  readonly #patienceMs: number;
  readonly #waiting = new Set<() => void>();

  /** @param patienceMs How long to wait, in milliseconds. */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  message(message: Uint8Array): void {
    this.messages.push(message);
    for (const look of [...this.#waiting]) look();
  }

  resumed(): void {
    this.interruptions++;
    for (const look of [...this.#waiting]) look();
  }

  /**
   * Waits until so many messages have come.
   *
   * @param count How many, from the beginning on.
   */
  async heard(count: number): Promise<void> {
    const what = (): string => `${count} messages, there are ${this.messages.length}`;
    await this.#until(() => this.messages.length >= count, what);
  }

  /**
   * Waits until so many interruptions have been told.
   *
   * @param count How many, from the beginning on.
   */
  async told(count: number): Promise<void> {
    const what = (): string => `${count} interruptions to be told, it were ${this.interruptions}`;
    await this.#until(() => this.interruptions >= count, what);
  }

  async #until(check: () => boolean, what: () => string): Promise<void> {
    if (check()) return;
    await new Promise<void>((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        act();
      };
      const look = (): void => {
        if (check()) settle(resolve);
      };
      const late = (): void =>
        settle(() => reject(new Error(`Expected ${what()} after ${this.#patienceMs} ms`)));
      const timer = setTimeout(late, this.#patienceMs);
      this.#waiting.add(look);
    });
  }
}

/**
 * A message that differs from every other with another sender or number.
 *
 * @param sender Who sends it: 0 to 255.
 * @param n Its number: 0 to 65,535.
 * @param length How long it is, in bytes; at least 3.
 */
export function numbered(sender: number, n: number, length = 3): Uint8Array {
  const message = new Uint8Array(length).fill(n);
  message.set([sender, n >> 8, n & 255]);
  return message;
}

/** So many of a sender's messages, of many lengths. */
export function series(sender: number, count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, n) => numbered(sender, n, 3 + (n * 37) % 4000));
}
