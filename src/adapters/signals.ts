/**
 * What a process is told by a signal, and how it ends: the same on Deno, Bun and Node, for each has
 * Node's `process`.
 *
 * @module
 */

/** A signal that asks a process to end, and that it may answer. */
export type StopSignal = "SIGTERM" | "SIGINT" | "SIGHUP" | "SIGQUIT";

/** What is needed of `process`. */
export interface ProcessHost {
  /** Calls back at each such signal, which then no longer ends the process by itself. */
  on(signal: StopSignal, listener: () => void): unknown;
  /** No longer calls back. */
  off(signal: StopSignal, listener: () => void): unknown;
  /** Ends the process. */
  exit(code: number): unknown;
}

/** Their numbers, the same on every Unix: a shell reports 128 and the number. */
const NUMBERS: Readonly<Record<StopSignal, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGTERM: 15,
};

/** Every signal that may be named. */
export const STOP_SIGNALS: readonly string[] = Object.keys(NUMBERS);

/**
 * This process.
 *
 * @returns The runtime's `process`.
 * @throws {Error} Where there is none, such as on Workers.
 */
export function thisProcess(): ProcessHost {
  const { process } = globalThis as { readonly process?: Partial<ProcessHost> };
  if (process?.on === undefined || process.off === undefined || process.exit === undefined) {
    throw new Error("Cannot listen to signals: this runtime has no process");
  }
  return process as ProcessHost;
}

/** Something that is stopped by a signal. */
export interface StopsOnSignal {
  /** By which. */
  readonly signals: readonly StopSignal[];
  /**
   * Stops it.
   *
   * @param signal Which it was.
   * @returns Settles in bounded time; a rejection makes the process exit with 1.
   */
  stop(signal: StopSignal): Promise<void>;
}

/** One for each process: of two servers, the first to be done must not end the other. */
const watches = new WeakMap<ProcessHost, Watch>();

/**
 * Stops something on a signal and then exits: with 0, or with 1 when it failed. What else the process
 * has asked to stop on that signal is waited for too. A second signal exits at once, with 128 and its
 * number.
 *
 * @param host The process.
 * @param member What is stopped.
 * @returns Forgets it; the signals have their own effect again when nothing is left. Once a signal has
 * come it does nothing: the process is to exit.
 */
export function stopOnSignals(host: ProcessHost, member: StopsOnSignal): () => void {
  const watch = watches.get(host) ?? new Watch(host);
  watches.set(host, watch);
  return watch.join(member);
}

class Watch {
  readonly #host: ProcessHost;
  readonly #members = new Set<StopsOnSignal>();
  readonly #listeners = new Map<StopSignal, () => void>();
  #stopping = false;

  constructor(host: ProcessHost) {
    this.#host = host;
  }

  join(member: StopsOnSignal): () => void {
    this.#members.add(member);
    this.#listen();
    return () => {
      if (this.#stopping) return;
      this.#members.delete(member);
      this.#listen();
    };
  }

  /** Listens to the signals that a member wants, and to no other. */
  #listen(): void {
    const wanted = new Set([...this.#members].flatMap(({ signals }) => signals));
    for (const [signal, listener] of this.#listeners) {
      if (wanted.has(signal)) continue;
      this.#host.off(signal, listener);
      this.#listeners.delete(signal);
    }
    for (const signal of wanted) {
      if (this.#listeners.has(signal)) continue;
      const listener = (): void => this.#heard(signal);
      this.#listeners.set(signal, listener);
      this.#host.on(signal, listener);
    }
  }

  #heard(signal: StopSignal): void {
    if (this.#stopping) {
      this.#host.exit(128 + NUMBERS[signal]);
      return;
    }
    this.#stopping = true;
    const called = [...this.#members].filter(({ signals }) => signals.includes(signal));
    Promise.allSettled(called.map(async (member) => await member.stop(signal))).then((outcomes) => {
      this.#host.exit(outcomes.some(({ status }) => status === "rejected") ? 1 : 0);
    });
  }
}
