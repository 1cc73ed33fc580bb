/**
 * What a platform says of its page and its network, as a schedule says it.
 *
 * @module
 */
import type { OnlineSource, VisibilitySignal, VisibilitySource } from "../../src/client/types.ts";

/** Listeners of one kind of signal. */
class Listeners<T> {
  readonly #all = new Set<(signal: T) => void>();

  /** How many there are. */
  get listeners(): number {
    return this.#all.size;
  }

  subscribe(listener: (signal: T) => void): () => void {
    // Of its own: who listens twice is called twice.
    const own = (signal: T): void => listener(signal);
    this.#all.add(own);
    return () => void this.#all.delete(own);
  }

  protected tell(signal: T): void {
    for (const listener of [...this.#all]) listener(signal);
  }
}

/** Whether anybody sees the page. */
export class ModelVisibility extends Listeners<VisibilitySignal> implements VisibilitySource {
  #hidden = false;

  hidden(): boolean {
    return this.#hidden;
  }

  /** Something changes. */
  say(signal: VisibilitySignal): void {
    if (signal === "hidden" || signal === "visible") this.#hidden = signal === "hidden";
    this.tell(signal);
  }
}

/** Whether there is a network. */
export class ModelOnline extends Listeners<boolean> implements OnlineSource {
  #online = true;

  online(): boolean {
    return this.#online;
  }

  /** Something changes. */
  say(online: boolean): void {
    this.#online = online;
    this.tell(online);
  }
}
