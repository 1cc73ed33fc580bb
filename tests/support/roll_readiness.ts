/**
 * What makes a balancer look at its pods: it asks each for its readiness, again and again, and sends
 * new connections only to those that say yes. Runs under Deno.
 *
 * @module
 */
import type { Balancer } from "./balancer.ts";

const ASK_MS = 1000;

interface Asked {
  timer: ReturnType<typeof setTimeout> | undefined;
  last: Promise<void>;
}

/** What a pod says: `silent` when it takes too long, of which a balancer makes nothing yet. */
type Said = "ready" | "not ready" | "silent";

/** Asks pods whether they are ready. */
export class Readiness {
  readonly #balancer: Balancer;
  readonly #everyMs: number;
  readonly #asking = new Map<string, Asked>();
  #slowestMs = 0;

  /**
   * @param balancer Whom to tell.
   * @param everyMs How long to wait between two questions to one pod, in milliseconds.
   */
  constructor(balancer: Balancer, everyMs: number) {
    this.#balancer = balancer;
    this.#everyMs = everyMs;
  }

  /**
   * How long the slowest answer took, in milliseconds. It does not go through the balancer, and costs a
   * pod next to nothing: what is slow then is the machine.
   */
  get slowestMs(): number {
    return this.#slowestMs;
  }

  /** Begins to ask a pod. */
  watch(url: string): void {
    const asked: Asked = { timer: undefined, last: Promise.resolve() };
    this.#asking.set(url, asked);
    const ask = async (): Promise<void> => {
      const began = performance.now();
      const said = await read(url);
      this.#slowestMs = Math.max(this.#slowestMs, performance.now() - began);
      if (this.#asking.get(url) !== asked) return;
      if (said === "ready") this.#balancer.add(url);
      if (said === "not ready") this.#balancer.remove(url);
      asked.timer = setTimeout(() => void (asked.last = ask()), this.#everyMs);
    };
    asked.last = ask();
  }

  /** Asks a pod no longer: it has gone. */
  async forget(url: string): Promise<void> {
    const asked = this.#asking.get(url);
    this.#asking.delete(url);
    this.#balancer.remove(url);
    clearTimeout(asked?.timer);
    await asked?.last;
  }

  /** Asks nobody any longer. */
  async stop(): Promise<void> {
    await Promise.all([...this.#asking.keys()].map((url) => this.forget(url)));
  }
}

async function read(url: string): Promise<Said> {
  const signal = AbortSignal.timeout(ASK_MS);
  try {
    const answer = await fetch(`${url}/ready`, { signal });
    await answer.body?.cancel();
    return answer.ok ? "ready" : "not ready";
  } catch {
    return signal.aborted ? "silent" : "not ready";
  }
}
