/**
 * Starts a client in a process of its own, on its own runtime, and talks to it. Runs under Deno.
 *
 * @module
 */
import type { Command, Done, Line, Order, StreamDescription } from "./client_protocol.ts";
import { ClientStream } from "./client_stream.ts";
import type { ClientRuntime } from "./runtimes.ts";

const ROOT = new URL("../../", import.meta.url);
const START_MS = 30_000;
const ORDER_MS = 10_000;
const LOG_CHARACTERS = 65_536;

const running = new Set<Deno.ChildProcess>();
globalThis.addEventListener("unload", () => {
  for (const child of running) kill(child, "SIGKILL");
});

/** A client in a process of its own. */
export class ClientProcess {
  /** Where it runs. */
  readonly runtime: ClientRuntime;
  readonly #child: Deno.ChildProcess;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #streams = new Map<string, ClientStream>();
  readonly #answers = new Map<number, (done: Done) => void>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #pumps: Promise<unknown>;
  #commands = 0;
  #log = "";
  #ended = false;

  private constructor(runtime: ClientRuntime) {
    const [program, ...args] = runtime.argv;
    this.runtime = runtime;
    this.#child = new Deno.Command(program, {
      args,
      cwd: ROOT,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    running.add(this.#child);
    this.#stdin = this.#child.stdin.getWriter();
    this.#pumps = Promise.all([
      readLines(this.#child.stdout, (line) => this.#hear(line)),
      readLines(this.#child.stderr, (line) => this.#note(line)),
    ]);
    void this.#child.status.then(() => {
      running.delete(this.#child);
      this.#ended = true;
      this.#ready.reject(new Error(`The client on ${runtime.name} ended\n${this.#log}`));
      for (const stream of this.#streams.values()) stream.wake();
    });
    this.#ready.promise.catch(() => {});
  }

  /**
   * Starts one.
   *
   * @param runtime Where.
   * @returns The client, once it takes commands.
   * @throws {Error} When it ended before, or took over 30 s; with what it wrote on stderr.
   */
  static async start(runtime: ClientRuntime): Promise<ClientProcess> {
    const client = new ClientProcess(runtime);
    const timer = setTimeout(() => client.kill("SIGKILL"), START_MS);
    try {
      await client.#ready.promise;
    } finally {
      clearTimeout(timer);
    }
    return client;
  }

  /** The newest of what it wrote on stderr, and on stdout besides what is told. */
  get log(): string {
    return this.#log;
  }

  /** Whether its process has ended. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Makes a stream; it is not started.
   *
   * @param name A name that no other stream of this client has.
   * @param description Its options.
   */
  async create(name: string, description: StreamDescription): Promise<ClientStream> {
    const stream = new ClientStream(this, name);
    this.#streams.set(name, stream);
    await stream.order({ do: "create", description });
    return stream;
  }

  /**
   * Sends an order to one of its streams.
   *
   * @returns The answer.
   * @throws {Error} When the order failed, or was not answered within 10 s.
   */
  async order(stream: string, order: Order): Promise<Done> {
    const number = ++this.#commands;
    const command: Command = { ...order, number, stream };
    const { promise, resolve, reject } = Promise.withResolvers<Done>();
    this.#answers.set(number, resolve);
    // It may be rejected while the order is still being written.
    promise.catch(() => {});
    const timer = setTimeout(
      () => reject(new Error(`${order.do} was not answered within ${ORDER_MS} ms\n${this.#log}`)),
      ORDER_MS,
    );
    try {
      await this.#stdin.write(new TextEncoder().encode(`${JSON.stringify(command)}\n`));
      const done = await promise;
      if (done.error !== null) throw new Error(`${order.do} failed: ${done.error}`);
      return done;
    } finally {
      clearTimeout(timer);
      this.#answers.delete(number);
    }
  }

  /**
   * Sends its process a signal.
   *
   * @param signal `SIGSTOP` stops all it does, `SIGCONT` lets it go on, `SIGKILL` ends it.
   */
  kill(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    kill(this.#child, signal);
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.kill("SIGCONT");
    await this.#stdin.close().catch(() => {});
    const timer = setTimeout(() => this.kill("SIGKILL"), ORDER_MS);
    await this.#child.status;
    clearTimeout(timer);
    await this.#pumps;
  }

  #note(line: string): void {
    this.#log = `${this.#log}${line}\n`.slice(-LOG_CHARACTERS);
  }

  #hear(text: string): void {
    if (text === "READY") return this.#ready.resolve();
    let line: Line;
    try {
      // What our own program writes; what else stands on stdout is the platform's.
      line = JSON.parse(text) as Line;
    } catch {
      return this.#note(text);
    }
    if (line.told === "done") this.#answers.get(line.number)?.(line);
    this.#streams.get(line.stream)?.hear(line);
  }
}

async function readLines(
  stream: ReadableStream<Uint8Array>,
  take: (line: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") take(line);
  }
}

function kill(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has ended already.
  }
}
