/**
 * One stream in a client's own process: built from a description, moved by orders, and telling all
 * that happens to it.
 *
 * @module
 */
import { createStream } from "../../client.ts";
import type {
  OnlineSource,
  RevalidateContext,
  Stream,
  StreamOptions,
  VisibilitySignal,
  VisibilitySource,
} from "../../src/client/types.ts";
import { Application } from "./client_application.ts";
import type { Done, Happening, Order, Plan, StreamDescription } from "./client_protocol.ts";

const SHOWN_CHARACTERS = 100;

/** The stream, and all that surrounds one in an application. */
export class Actor {
  readonly #tell: (happening: Happening) => void;
  readonly #application: Application | null;
  readonly #stream: Stream;
  readonly #page = new Page();
  readonly #network = new Network();
  readonly #throwAt = new Set<string>();
  #plans: Plan[] = [];
  #held: (() => void)[] = [];

  /**
   * Makes the stream; it is not started.
   *
   * @param description Its options.
   * @param tell Takes what happens.
   */
  constructor(description: StreamDescription, tell: (happening: Happening) => void) {
    const { saved, application, onRefused, ...given } = description;
    this.#tell = tell;
    const onLifecycle: StreamOptions["onLifecycle"] = (record) => tell({ told: "record", record });
    this.#application = application === undefined
      ? null
      : new Application(application, given.timing?.digestTimeoutMs, onLifecycle);
    this.#stream = createStream({
      ...given,
      ...(this.#application === null ? {} : { versions: this.#application.versions }),
      ...(saved === undefined ? {} : {
        persist: { load: () => saved, save: (saved) => tell({ told: "saved", saved }) },
      }),
      visibility: this.#page,
      online: this.#network,
      onLifecycle,
      onLag: (lag) => tell({ told: "lag", lag }),
      onRefused: (refusal) => {
        tell({ told: "refused", refusal });
        return onRefused;
      },
      onFrame: ({ type, data, id }) => {
        const { length } = data;
        const frame = { type, data: data.slice(0, SHOWN_CHARACTERS), id, length };
        tell({ told: "frame", frame, cursor: this.#stream.cursor() });
        if (this.#throwAt.has(data)) throw new Error(`onFrame was told to throw at ${data}`);
      },
      revalidate: (context) => this.#revalidate(context),
    });
  }

  /**
   * Carries an order out.
   *
   * @param order The order; not `create`.
   */
  async obey(order: Order): Promise<void> {
    switch (order.do) {
      case "start":
      case "stop":
      case "reconnect":
      case "credentialsChanged":
      case "resetCursor":
        return this.#stream[order.do]();
      case "page":
        return this.#page.say(order.signal);
      case "network":
        return this.#network.say(order.on);
      case "plan":
        this.#plans = [...order.plans];
        return;
      case "release":
        for (const release of this.#held.splice(0)) release();
        return;
      case "throwAt":
        this.#throwAt.add(order.data);
        return;
      case "show":
        return await this.#application?.show(order.subjects);
      case "look":
        return;
      case "create":
        throw new Error("The stream is there already");
    }
  }

  /** Where it stands, for the answer to an order. */
  look(): Pick<Done, "state" | "cursor" | "versions" | "shown"> {
    return {
      state: this.#stream.state(),
      cursor: this.#stream.cursor(),
      versions: this.#application?.versions.snapshot() ?? null,
      shown: this.#application?.shown ?? {},
    };
  }

  async #revalidate(context: RevalidateContext): Promise<void> {
    const { signal, ...told } = context;
    this.#tell({ told: "revalidate", context: told });
    try {
      await this.#carryOut(this.#plans.shift() ?? "pass", context);
      this.#tell({ told: "revalidated", how: "resolved" });
    } catch (error) {
      this.#tell({ told: "revalidated", how: signal.aborted ? "aborted" : "rejected" });
      throw error;
    }
  }

  async #carryOut(plan: Plan, context: RevalidateContext): Promise<void> {
    switch (plan) {
      case "pass":
        return;
      case "fail":
        throw new Error("The revalidation was told to fail");
      case "work":
        return await this.#application?.revalidate(context);
      case "hold": {
        const { signal } = context;
        await new Promise<void>((resolve, reject) => {
          this.#held.push(resolve);
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
      }
    }
  }
}

/** A page that a suite shows and hides. */
class Page implements VisibilitySource {
  readonly #listeners = new Set<(signal: VisibilitySignal) => void>();
  #hidden = false;

  hidden(): boolean {
    return this.#hidden;
  }

  subscribe(listener: (signal: VisibilitySignal) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  say(signal: VisibilitySignal): void {
    if (signal === "hidden" || signal === "visible") this.#hidden = signal === "hidden";
    for (const listener of this.#listeners) listener(signal);
  }
}

/** A network that a suite takes away and gives back. */
class Network implements OnlineSource {
  readonly #listeners = new Set<(on: boolean) => void>();
  #on = true;

  online(): boolean {
    return this.#on;
  }

  subscribe(listener: (on: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  say(on: boolean): void {
    this.#on = on;
    for (const listener of this.#listeners) listener(on);
  }
}
