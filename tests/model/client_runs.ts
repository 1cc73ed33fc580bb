/**
 * The revalidations of one page, as the schedule plans them: they end at once or when told to, well or
 * badly, and take notice of their signal or not.
 *
 * @module
 */
import type { RevalidateContext } from "../../src/client/types.ts";
import type { VersionMap } from "../../src/client/versions.ts";
import type { ModelClock } from "./client_clock.ts";
import type { ModelHub } from "./client_hub.ts";
import type { Memory } from "./client_memory.ts";
import type { Reasons } from "./client_reasons.ts";
import type { Step } from "./client_schedule.ts";

/** How revalidations go. */
export type RunPlan = Extract<Step, { readonly do: "runs" }>;

/** What revalidations need. */
export interface RunsOptions {
  readonly clock: ModelClock;
  readonly hub: ModelHub;
  readonly memory: Memory;
  readonly versions: VersionMap;
  readonly reasons: Reasons;
  /** Takes a rule that was broken. */
  fault(text: string): void;
}

interface Run {
  /** Whether it takes no notice of its signal. */
  readonly deaf: boolean;
  abortedAt: number | null;
  settle: (ok: boolean) => void;
}

const REVALIDATE_TIMEOUT_MS = 30_000;

/** The revalidations. */
export class Runs {
  readonly #options: RunsOptions;
  #plan: RunPlan = { do: "runs", how: "ok", deaf: false };
  /** Those that have not settled. */
  readonly #all = new Set<Run>();

  /** @param options What they need. */
  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /** How they go from now on. */
  plan(plan: RunPlan): void {
    this.#plan = plan;
  }

  /** Whether one runs that was not aborted. */
  get running(): boolean {
    return [...this.#all].some(({ abortedAt }) => abortedAt === null);
  }

  /** The oldest one ends. */
  settle(ok: boolean): void {
    for (const run of this.#all) return run.settle(ok);
  }

  /** They go well from now on. The deaf ones never settle: the stream goes on without them. */
  calm(): void {
    this.plan({ do: "runs", how: "ok", deaf: false });
    for (const run of [...this.#all]) if (!run.deaf) run.settle(true);
  }

  /**
   * One begins.
   *
   * @param context What the stream says of it.
   * @param act What the application does first; it may throw.
   * @returns Settles when it is over.
   */
  begin(context: RevalidateContext, act: () => void): Promise<void> {
    const { clock, reasons } = this.#options;
    this.#judge(context);
    const { how, deaf } = this.#plan;
    const since = clock.now();
    const [run, done] = this.#run(deaf, since);
    context.signal.addEventListener("abort", () => {
      run.abortedAt = clock.now();
      reasons.aborted(!this.#all.has(run));
      if (!deaf) run.settle(false);
    });
    try {
      act();
    } catch (error) {
      this.#all.delete(run);
      reasons.ended(false, since);
      throw error;
    }
    if (how !== "wait") queueMicrotask(() => run.settle(how === "ok"));
    return done;
  }

  #judge(context: RevalidateContext): void {
    const { clock, hub, reasons, fault } = this.#options;
    for (const { abortedAt } of this.#all) {
      if (abortedAt === null || clock.now() - abortedAt < REVALIDATE_TIMEOUT_MS) {
        fault("a revalidation began while another one was under way");
      }
    }
    if (context.signal.aborted) fault("a revalidation began with an aborted signal");
    if (context.epoch !== hub.hello?.epoch) fault(`a revalidation of epoch ${context.epoch}`);
    const wrong = reasons.began(context);
    if (wrong !== "") fault(wrong);
  }

  #run(deaf: boolean, since: number): readonly [Run, Promise<void>] {
    const { hub, memory, versions, reasons } = this.#options;
    // What was published until now is what it brings.
    const to = hub.log.length;
    const run: Run = { deaf, abortedAt: null, settle() {} };
    const done = new Promise<void>((resolve, reject) => {
      run.settle = (ok) => {
        if (!this.#all.delete(run)) return;
        if (ok) {
          memory.fetched(to);
          versions.observe({ kind: "thing", ref: "1" }, "v1");
          resolve();
        } else reject(new Error("planned"));
        if (run.abortedAt === null) reasons.ended(ok, since);
      };
    });
    // It may end, and then be thrown away, by what the application does as it begins.
    done.catch(() => {});
    this.#all.add(run);
    return [run, done];
  }
}
