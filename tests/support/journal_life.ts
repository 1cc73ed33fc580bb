/**
 * A fixture that is killed and started again, on the same port and over the same journal; and one that
 * is not to start at all. Runs under Deno.
 *
 * @module
 */
import { fixtureFlags, type FixtureOptions } from "../../src/testing/fixture/options.ts";
import type { FixtureState } from "../../src/testing/fixture/state.ts";
import { type RunningFixture, startFixture } from "./fixture.ts";
import { runToEnd } from "./run.ts";
import { type Runtime, type RuntimeName, RUNTIMES } from "./runtimes.ts";

/** How long a fixture that cannot start may take to say so, in milliseconds. */
const REFUSAL_MS = 25_000;

/** How a program ended that was not to start. */
export interface Refused {
  /** Its exit code. */
  readonly code: number;
  /** What it wrote on stdout. */
  readonly stdout: string;
  /** The lines that it wrote on stderr. */
  readonly lines: readonly string[];
}

/** A runtime of the table. */
export function runtimeOf(name: RuntimeName): Runtime {
  const runtime = RUNTIMES.find((each) => each.name === name);
  if (runtime === undefined) throw new Error(`There is no runtime ${name}`);
  return runtime;
}

/** One fixture after another, in the same place. */
export class Lives {
  /** Where each of them listens. */
  readonly url: string;
  readonly #port: number;
  readonly #options: FixtureOptions;
  #life: RunningFixture | null = null;
  #up = Promise.withResolvers<void>();

  /**
   * @param options The settings of each of them.
   * @param port A free port, on which each of them listens.
   */
  constructor(options: FixtureOptions, port: number) {
    this.#options = options;
    this.#port = port;
    this.url = `http://127.0.0.1:${this.#port}`;
  }

  /** Settles when one listens. */
  get up(): Promise<void> {
    return this.#up.promise;
  }

  /** Whether one listens. */
  get alive(): boolean {
    return this.#life !== null;
  }

  /**
   * Starts one.
   *
   * @param name Where.
   * @throws {Error} When it does not listen in time; with its log.
   */
  async start(name: RuntimeName): Promise<void> {
    const runtime = runtimeOf(name);
    const { command } = runtime;
    const argv = [...command.argv, "--addr", `127.0.0.1:${this.#port}`] as const;
    this.#life = await startFixture({ ...runtime, command: { ...command, argv } }, this.#options);
    this.#up.resolve();
  }

  /** Ends it by SIGKILL: it finishes nothing. Settles when the process is gone. */
  async kill(): Promise<void> {
    const life = this.#end();
    Deno.kill(life.pid, "SIGKILL");
    const { signal } = await life.stop();
    if (signal !== "SIGKILL") throw new Error(`It ended by ${signal}, not by the kill`);
  }

  /** Ends it as an operator does. */
  async stop(): Promise<void> {
    if (this.#life !== null) await this.#end().stop();
  }

  /** What it tells of itself. */
  state(): Promise<FixtureState> {
    if (this.#life === null) throw new Error("Cannot ask: no fixture runs");
    return this.#life.state();
  }

  #end(): RunningFixture {
    const life = this.#life;
    if (life === null) throw new Error("Cannot end: no fixture runs");
    this.#life = null;
    this.#up = Promise.withResolvers();
    return life;
  }
}

/**
 * Starts a fixture that cannot start, and waits for its end.
 *
 * @param name Where.
 * @param options Its settings.
 * @returns How it ended.
 * @throws {Error} When it still runs after 25 s.
 */
export async function refusedFixture(name: RuntimeName, options: FixtureOptions): Promise<Refused> {
  const { argv: [program, ...args], env } = runtimeOf(name).command;
  const { code, stdout, stderr, late } = await runToEnd(
    program,
    [...args, ...fixtureFlags(options)],
    { timeoutMs: REFUSAL_MS, cwd: new URL("../../", import.meta.url), env },
  );
  if (late) throw new Error(`The fixture still ran after ${REFUSAL_MS} ms\n${stderr}`);
  return { code, stdout, lines: stderr.split("\n").filter((line) => line.trim() !== "") };
}
