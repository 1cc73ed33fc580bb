/**
 * A Redis of a test's own: started on a free port, stopped, killed, paused and started again by its
 * process id, with its data in a temporary folder. Runs on Deno, Bun and Node.
 *
 * @module
 */
import { Redis, type RedisOptions } from "ioredis";
import { type ChildProcess, spawn } from "node:child_process";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { eventually } from "./poll.ts";
import { freePort } from "./port.ts";
import { test } from "./test.ts";

/** The program. */
export const REDIS_SERVER = "redis-server";

/** Syncs the log before each answer: what was acknowledged survives. */
export const DURABLE: readonly string[] = ["--appendonly", "yes", "--appendfsync", "always"];

/** Keeps nothing. */
export const VOLATILE: readonly string[] = ["--appendonly", "no"];

/** A server, and what a test does to it. */
export class RedisServer {
  /** Its port on 127.0.0.1; the same after a restart. */
  readonly port: number;
  /** Where its files are. */
  readonly folder: string;
  #child: ChildProcess | null = null;
  #clients: Redis[] = [];

  /**
   * @param port A free port.
   * @param folder An empty folder.
   */
  constructor(port: number, folder: string) {
    this.port = port;
    this.folder = folder;
  }

  /** A client, which {@linkcode RedisServer.dispose} ends. */
  client(options: RedisOptions = {}): Redis {
    const client = new Redis({ host: "127.0.0.1", port: this.port, retryStrategy, ...options });
    // A server that is away is what is tested.
    client.on("error", () => {});
    this.#clients.push(client);
    return client;
  }

  /**
   * Starts the process, and waits until it takes commands.
   *
   * @param args What else it is told.
   */
  async start(args: readonly string[] = VOLATILE): Promise<void> {
    const child = spawn(REDIS_SERVER, [
      ...["--port", String(this.port), "--bind", "127.0.0.1", "--dir", this.folder],
      ...["--save", "", "--databases", "1", "--enable-debug-command", "yes"],
      ...args,
    ], { stdio: "ignore" });
    this.#child = child;
    const probe = new Redis({ host: "127.0.0.1", port: this.port, retryStrategy });
    probe.on("error", () => {});
    try {
      await Promise.race([
        eventually(async () => await probe.ping() === "PONG", { what: "Redis to answer" }),
        new Promise<never>((_, reject) => {
          child.once("exit", (code) => reject(new Error(`${REDIS_SERVER} ended with ${code}`)));
        }),
      ]);
    } finally {
      probe.disconnect();
    }
  }

  /**
   * Sends a signal to the process.
   *
   * @param signal Which: `SIGSTOP` pauses it, `SIGCONT` lets it go on.
   */
  signal(signal: "SIGCONT" | "SIGKILL" | "SIGSTOP" | "SIGTERM"): void {
    send(this.#child, signal);
  }

  /**
   * Ends the process, and waits until it is gone.
   *
   * @param signal `SIGKILL` leaves it no time to write anything.
   */
  async stop(signal: "SIGKILL" | "SIGTERM" = "SIGTERM"): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    send(child, signal);
    // A paused process takes no other signal.
    if (signal !== "SIGKILL") send(child, "SIGCONT");
    await gone;
  }

  /** Writes a snapshot, and gives its path. */
  async snapshot(name: string): Promise<string> {
    const client = this.client();
    await client.call("SAVE");
    client.disconnect();
    const path = join(this.folder, name);
    await copyFile(join(this.folder, "dump.rdb"), path);
    return path;
  }

  /** Starts again from a snapshot, in the place of what there is. */
  async restore(path: string): Promise<void> {
    await this.stop("SIGKILL");
    await copyFile(path, join(this.folder, "dump.rdb"));
    await this.start(VOLATILE);
  }

  /** Ends the clients and the process, and deletes the files. */
  async dispose(): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    await this.stop("SIGKILL");
    await rm(this.folder, { recursive: true, force: true });
  }
}

/**
 * Starts a server.
 *
 * @param args What else it is told; nothing is kept by default.
 * @returns The server, once it answers.
 */
export async function startRedis(args: readonly string[] = VOLATILE): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), "redis-"));
  const server = new RedisServer(await freePort(), folder);
  try {
    await server.start(args);
  } catch (error) {
    await server.dispose();
    throw error;
  }
  return server;
}

/**
 * Registers a test that has a server of its own.
 *
 * @param name A sentence of behaviour.
 * @param body What it does.
 * @param args What else the server is told.
 */
export function onRedis(
  name: string,
  body: (server: RedisServer) => Promise<void>,
  args?: readonly string[],
): void {
  test(`Redis: ${name}`, async () => {
    const server = await startRedis(args);
    try {
      await body(server);
    } finally {
      await server.dispose();
    }
    // The client leaves timers of its connections behind.
  }, { needs: [REDIS_SERVER], foreignTimers: true });
}

/** By its id: the `kill` of a child takes one signal only on Deno. */
function send(child: ChildProcess | null, signal: string): void {
  if (child?.pid !== undefined) process.kill(child.pid, signal);
}

/** Soon, so that a restart takes no second. */
function retryStrategy(): number {
  return 20;
}
