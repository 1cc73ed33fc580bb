/**
 * Starts the fixture server, or a bare program, in a process of its own, and always stops it. Runs
 * under Deno.
 *
 * @module
 */
import { fixtureFlags, type FixtureOptions } from "../../src/testing/fixture/options.ts";
import type { FixtureState } from "../../src/testing/fixture/state.ts";
import type { BareRuntime, Command, Runtime } from "./runtimes.ts";

/** A server in a process of its own. */
export interface ServerProcess {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string;
  /** The process that was started; of workerd, its launcher. */
  readonly pid: number;
  /** The newest 64 Ki characters of what the process wrote on stderr. */
  log(): string;
  /** Writes a line to the process's standard input: a bare program publishes it. */
  line(text: string): Promise<void>;
  /**
   * Stops the process: SIGTERM, and SIGKILL when it has not gone after 8 s. A second call joins the
   * first.
   *
   * @returns How it ended, and after how many milliseconds.
   */
  stop(): Promise<Stopped>;
}

/** How a process ended. */
export interface Stopped {
  /** Its exit code. */
  readonly code: number;
  /** The signal that ended it, or `null`. */
  readonly signal: string | null;
  /** Milliseconds from SIGTERM to its end. */
  readonly afterMs: number;
  /** Whether SIGTERM was not enough. */
  readonly killed: boolean;
}

/** A running fixture server. */
export interface RunningFixture extends ServerProcess {
  /** Where it runs. */
  readonly runtime: Runtime;
  /**
   * Posts to `/control/PATH`.
   *
   * @param path The route after `/control/`.
   * @param body The body, as an object; none is the zero request.
   * @returns The answer's JSON, or `undefined` when there is none.
   * @throws {Error} On a status other than 2xx, with the answer and the process's log.
   */
  control(path: string, body?: unknown): Promise<unknown>;
  /**
   * Publishes.
   *
   * @param body As `POST /control/publish` takes it.
   * @returns The offsets and the head after them.
   */
  publish(
    body: PublishBody,
  ): Promise<{ readonly offsets: readonly string[]; readonly head: string }>;
  /** What `GET /control/state` tells. */
  state(): Promise<FixtureState>;
}

/** The body of `POST /control/publish`. */
export interface PublishBody {
  readonly topic?: string;
  readonly name?: string;
  readonly data?: string;
  readonly count?: number;
  readonly size?: number;
  readonly ephemeral?: boolean;
}

const ROOT = new URL("../../", import.meta.url);
const START_MS = 30_000;
const STOP_MS = 8_000;
const LOG_CHARACTERS = 65_536;
const REQUEST_MS = 20_000;

/** What still runs when the test program ends. One that is killed leaves its children no stdin. */
const running = new Set<Deno.ChildProcess>();
globalThis.addEventListener("unload", () => {
  for (const child of running) kill(child, "SIGTERM");
});

/**
 * Starts the fixture server.
 *
 * @param runtime Where.
 * @param flags The fixture's settings.
 * @returns The server, once it listens.
 * @throws {Error} When it ended, or did not listen within 30 s; with its log.
 */
export async function startFixture(
  runtime: Runtime,
  flags: FixtureOptions = {},
): Promise<RunningFixture> {
  const argv = [...fixtureFlags(flags), "--stop-with-stdin", "on"];
  const server = await start(runtime.name, runtime.command, argv);
  const control = async (path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${server.url}/control/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: body === undefined ? "" : JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    const text = await response.text();
    if (!response.ok) throw refused(path, response.status, text, server);
    return text === "" ? undefined : JSON.parse(text);
  };
  return {
    ...server,
    runtime,
    control,
    async publish(body) {
      // The route's answer; the fixture's own tests pin its shape.
      return await control("publish", body) as { offsets: string[]; head: string };
    },
    async state() {
      const response = await fetch(`${server.url}/control/state`, {
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      const text = await response.text();
      if (!response.ok) throw refused("state", response.status, text, server);
      return JSON.parse(text) as FixtureState;
    },
  };
}

/**
 * Starts a fixture server, and stops it after the work, whatever becomes of that.
 *
 * @param runtime Where.
 * @param flags The fixture's settings.
 * @param work What to do with it.
 * @returns What the work returned.
 * @throws {Error} What the work threw, with the server's log after its message.
 */
export async function withFixture<T>(
  runtime: Runtime,
  flags: FixtureOptions,
  work: (fixture: RunningFixture) => T | Promise<T>,
): Promise<T> {
  const fixture = await startFixture(runtime, flags);
  try {
    return await work(fixture);
  } catch (error) {
    if (error instanceof Error && fixture.log() !== "") {
      error.message += `\n[${runtime.name} wrote]\n${fixture.log()}`;
    }
    throw error;
  } finally {
    await fixture.stop();
  }
}

/**
 * Starts a bare program.
 *
 * @param runtime Which.
 * @returns The server, once it listens.
 * @throws {Error} When it ended, or did not listen within 30 s; with its log.
 */
export function startBare(runtime: BareRuntime): Promise<ServerProcess> {
  return start(runtime.name, runtime.command, []);
}

function refused(path: string, status: number, text: string, server: ServerProcess): Error {
  return new Error(`The fixture answered ${path} with ${status}: ${text}\n${server.log()}`);
}

async function start(
  name: string,
  command: Command,
  flags: readonly string[],
): Promise<ServerProcess> {
  const [program, ...args] = command.argv;
  const child = new Deno.Command(program, {
    args: [...args, ...flags],
    cwd: ROOT,
    env: { ...command.env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  running.add(child);
  const started = performance.now();
  let out = "";
  let log = "";
  const listening = Promise.withResolvers<string>();
  const pumps = [
    pump(child.stdout, (text) => {
      out += text;
      const found = command.listen.exec(out)?.[1];
      if (found !== undefined) listening.resolve(found);
      out = out.slice(-4096);
    }),
    pump(child.stderr, (text) => {
      log = (log + text).slice(-LOG_CHARACTERS);
    }),
  ];
  const ended = child.status.then((status) => {
    running.delete(child);
    return status;
  });
  ended.then((status) => {
    listening.reject(new Error(`${name} ended with code ${status.code} before it listened`));
  });
  const stdin = child.stdin.getWriter();
  let stopping: Promise<Stopped> | undefined;
  const server = {
    pid: child.pid,
    log: () => log,
    line: (text: string) => stdin.write(new TextEncoder().encode(`${text}\n`)),
    stop: () => stopping ??= stop(child, ended, pumps, stdin),
  };
  const timer = setTimeout(() => {
    const waited = Math.round(performance.now() - started);
    listening.reject(new Error(`${name} did not listen within ${waited} ms`));
  }, START_MS);
  try {
    return { url: await listening.promise, ...server };
  } catch (error) {
    await server.stop();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}\n[stdout]\n${out}\n[stderr]\n${log}`);
  } finally {
    clearTimeout(timer);
  }
}

interface Pump {
  readonly done: Promise<void>;
  cancel(): Promise<void>;
}

function pump(stream: ReadableStream<Uint8Array>, take: (text: string) => void): Pump {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const run = async (): Promise<void> => {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      take(decoder.decode(value, { stream: true }));
    }
  };
  return { done: run().catch(() => {}), cancel: () => reader.cancel() };
}

async function stop(
  child: Deno.ChildProcess,
  ended: Promise<Deno.CommandStatus>,
  pumps: readonly Pump[],
  stdin: WritableStreamDefaultWriter<Uint8Array>,
): Promise<Stopped> {
  const asked = performance.now();
  let killed = false;
  kill(child, "SIGTERM");
  const timer = setTimeout(() => {
    killed = true;
    kill(child, "SIGKILL");
  }, STOP_MS);
  const status = await ended;
  clearTimeout(timer);
  const afterMs = performance.now() - asked;
  // A grandchild that outlived its parent would keep the pipes open for ever.
  const patience = setTimeout(() => pumps.forEach((each) => each.cancel()), 1000);
  await Promise.all(pumps.map((each) => each.done));
  clearTimeout(patience);
  await stdin.close().catch(() => {});
  return { code: status.code, signal: status.signal, afterMs, killed };
}

function kill(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has ended already.
  }
}
