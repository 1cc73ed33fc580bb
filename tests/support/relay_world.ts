/**
 * Relays that lose, keep back, repeat and break off, as a test tells them to.
 *
 * @module
 */
import { RelayError } from "../../src/errors/relay.ts";
import type { Relay, RelayListener, RelaySubscription } from "../../src/relay/relay.ts";

/** A message on its way from one pod to one pod; both may be the same. */
export interface Passage {
  /** The pod that sent it. */
  readonly from: string;
  /** The pod that is to have it. */
  readonly to: string;
  /** Its bytes; not to be changed. */
  readonly message: Uint8Array;
}

/** What becomes of a message. */
export type Fate = "deliver" | "drop" | "twice";

/** One subscription of one pod. */
interface Line {
  readonly pod: string;
  readonly listener: RelayListener;
}

/** What is kept back. */
interface Kept {
  readonly line: Line;
  readonly passage: Passage;
}

/**
 * A broker of a test's own: a relay for each pod, and what happens between them. Messages arrive in
 * later microtasks, in the order in which they were sent, each sender's own ones too. Nothing is lost
 * until the test says so; no timer runs.
 */
export class RelayWorld {
  /** Decides on each passage, when it is sent. */
  fate: (passage: Passage) => Fate = () => "deliver";
  readonly #maxBytes: number;
  readonly #lines = new Set<Line>();
  readonly #away = new Set<string>();
  readonly #holds = new Map<string, Kept[]>();
  readonly #comings = new Set<() => void>();

  /** @param options `maxBytes`: the bound of one message; none by default. */
  constructor({ maxBytes = Infinity }: { readonly maxBytes?: number } = {}) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Connects a pod.
   *
   * @param pod Its name, for the levers; a pod may connect again once its relay is closed.
   */
  relay(pod: string): Relay {
    const own = new Set<Line>();
    let closed = false;
    const ensureOpen = (): void => {
      if (closed) throw new RelayError("closed", `the relay of ${pod} has been closed`);
    };
    return {
      maxBytes: this.#maxBytes,
      send: (message): void => {
        ensureOpen();
        if (message.length > this.#maxBytes) {
          throw new RelayError("too_large", `${message.length} bytes, above ${this.#maxBytes}`);
        }
        this.#send(pod, message);
      },
      listen: async (listener, { signal } = {}): Promise<RelaySubscription> => {
        ensureOpen();
        while (this.#away.has(pod)) {
          await this.#somebodyCame(signal);
          ensureOpen();
        }
        signal?.throwIfAborted();
        const line: Line = { pod, listener };
        const end = (): Promise<void> => {
          this.#lines.delete(line);
          own.delete(line);
          return Promise.resolve();
        };
        this.#lines.add(line);
        own.add(line);
        return { close: end };
      },
      close: (): Promise<void> => {
        closed = true;
        for (const line of own) this.#lines.delete(line);
        for (const come of this.#comings) come();
        return Promise.resolve();
      },
    };
  }

  /**
   * Takes pods off the broker: what they send is lost, they hear nothing, and a `listen` waits.
   *
   * @param pods Which.
   */
  interrupt(...pods: readonly string[]): void {
    for (const pod of pods) this.#away.add(pod);
  }

  /**
   * Brings pods back: `resumed()` is called in a later microtask, before whatever is sent from now on.
   *
   * @param pods Which; all that are away by default.
   */
  restore(...pods: readonly string[]): void {
    for (const pod of pods.length > 0 ? pods : [...this.#away]) {
      if (!this.#away.delete(pod)) continue;
      for (const line of this.#lines) {
        if (line.pod === pod) this.#later(line, () => line.listener.resumed());
      }
    }
    for (const come of this.#comings) come();
  }

  /**
   * Keeps back what one pod sends to another, until {@linkcode RelayWorld.release}.
   *
   * @param from Who sends.
   * @param to Who is to have it.
   */
  hold(from: string, to: string): void {
    const key = JSON.stringify([from, to]);
    if (!this.#holds.has(key)) this.#holds.set(key, []);
  }

  /**
   * Delivers what was kept back, in its order.
   *
   * @param from Who sent it.
   * @param to Who is to have it.
   */
  release(from: string, to: string): void {
    const key = JSON.stringify([from, to]);
    const kept = this.#holds.get(key) ?? [];
    this.#holds.delete(key);
    for (const { line, passage } of kept) this.#deliver(line, passage);
  }

  #send(from: string, message: Uint8Array): void {
    if (this.#away.has(from)) return;
    for (const line of this.#lines) {
      const passage: Passage = { from, to: line.pod, message };
      if (this.#away.has(line.pod)) continue;
      const fate = this.fate(passage);
      for (let times = { drop: 0, deliver: 1, twice: 2 }[fate]; times > 0; times--) {
        const kept = this.#holds.get(JSON.stringify([from, line.pod]));
        if (kept === undefined) this.#deliver(line, passage);
        else kept.push({ line, passage });
      }
    }
  }

  #deliver(line: Line, { message }: Passage): void {
    this.#later(line, () => {
      // What was on its way when the pod went is lost.
      if (!this.#away.has(line.pod)) line.listener.message(new Uint8Array(message));
    });
  }

  #later(line: Line, act: () => void): void {
    queueMicrotask(() => {
      if (this.#lines.has(line)) act();
    });
  }

  async #somebodyCame(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve) => {
      const come = (): void => {
        this.#comings.delete(come);
        signal?.removeEventListener("abort", come);
        resolve();
      };
      this.#comings.add(come);
      signal?.addEventListener("abort", come);
    });
    signal?.throwIfAborted();
  }
}
