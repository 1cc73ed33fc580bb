/**
 * A NATS server of a test's own: JetStream on a free port, with its data in a temporary folder. It can
 * be stopped, killed, paused and started again on the same port, and its data put aside and back.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { connect } from "@nats-io/transport-node";
import type { NatsConnection } from "@nats-io/transport-node";
import { eventually } from "./poll.ts";
import { freePort } from "./port.ts";

/** What a test starts, by its name on the `PATH`. */
export const NATS = "nats-server";

/** How a connection comes back. */
export interface NatsConnecting {
  /** How long to wait between two attempts, in milliseconds; 50. */
  readonly reconnectTimeWait?: number;
}

/** A NATS server. */
export class NatsServer {
  /** Where it listens. */
  readonly address: string;
  readonly #port: number;
  readonly #folder: string;
  readonly #args: readonly string[];
  readonly #connections: NatsConnection[] = [];
  #child: ChildProcess | undefined;
  #copies = 0;

  private constructor(port: number, args: readonly string[]) {
    this.#port = port;
    this.#args = args;
    this.address = `127.0.0.1:${port}`;
    this.#folder = mkdtempSync(join(tmpdir(), "nats-"));
  }

  /**
   * Starts one.
   *
   * @param args More arguments of the server.
   * @returns The server, once JetStream answers.
   */
  static async start(args: readonly string[] = []): Promise<NatsServer> {
    const server = new NatsServer(await freePort(), args);
    await server.up();
    return server;
  }

  /** The folder of its data. */
  get #data(): string {
    return join(this.#folder, "data");
  }

  /** Starts it on its port, on the data as they are. */
  async up(): Promise<void> {
    const where = ["-a", "127.0.0.1", "-p", String(this.#port), "-js", "-sd", this.#data];
    const child = spawn(NATS, [...where, ...this.#args], { stdio: "ignore" });
    this.#child = child;
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
      const connection = await connect({ servers: this.address, reconnect: false, timeout: 1000 });
      try {
        await connection.request("$JS.API.INFO", "", { timeout: 500 });
      } finally {
        await connection.close();
      }
      return true;
    }, { what: "the NATS server to answer" });
  }

  /**
   * Ends it, and waits for that.
   *
   * @param signal How: `SIGTERM` lets it finish what it does, `SIGKILL` does not.
   */
  async down(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill(signal);
    await ended;
  }

  /** Ends it and starts it again. */
  async restart(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.down(signal);
    await this.up();
  }

  /** Stops its clock: it does nothing, and its sockets stay open. Settles when all of it stands. */
  async pause(): Promise<void> {
    this.#signal("SIGSTOP");
    const tasks = `/proc/${this.#child?.pid}/task`;
    const stands = (task: string): boolean =>
      readFileSync(`${tasks}/${task}/stat`, "utf8").includes(") T ");
    await eventually(() => readdirSync(tasks).every(stands), { what: "the server to stand still" });
  }

  /** Lets it go on. */
  resume(): void {
    this.#signal("SIGCONT");
  }

  /** By the process id: a child's own `kill` may take a first signal for its end. */
  #signal(signal: "SIGSTOP" | "SIGCONT"): void {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    process.kill(child.pid, signal);
  }

  /** Restarts it, and keeps a copy of its data as they are in between. */
  async copy(): Promise<string> {
    const copy = join(this.#folder, `copy-${++this.#copies}`);
    await this.down();
    cpSync(this.#data, copy, { recursive: true });
    await this.up();
    return copy;
  }

  /**
   * Restarts it on other data.
   *
   * @param copy A copy; none for no data at all.
   */
  async replace(copy?: string): Promise<void> {
    await this.down();
    rmSync(this.#data, { recursive: true, force: true });
    if (copy !== undefined) cpSync(copy, this.#data, { recursive: true });
    await this.up();
  }

  /**
   * Connects. The connection comes back whenever the server does, and is closed with it.
   *
   * @param options How it comes back.
   */
  async connect({ reconnectTimeWait = 50 }: NatsConnecting = {}): Promise<NatsConnection> {
    const connection = await connect({
      servers: this.address,
      maxReconnectAttempts: -1,
      reconnectTimeWait,
      timeout: 2000,
    });
    this.#connections.push(connection);
    return connection;
  }

  /** Closes the connections, ends the server and deletes its data. */
  async stop(): Promise<void> {
    this.resume();
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.down("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Asks JetStream's own API, as an operator's tool does. */
export async function askJetStream<T extends object>(
  connection: NatsConnection,
  verb: string,
  body?: object,
): Promise<T> {
  const payload = body === undefined ? "" : JSON.stringify(body);
  const answer = await connection.request(`$JS.API.${verb}`, payload, { timeout: 5000 });
  const result = answer.json<T & { readonly error?: { readonly description: string } }>();
  if (result.error !== undefined) throw new Error(`${verb}: ${result.error.description}`);
  return result;
}
