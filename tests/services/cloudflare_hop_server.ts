/**
 * Hubs behind the hop over a folder that outlasts their process, for a test to start, to kill and to
 * start again. Runs under Deno.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type EventStream, openStream, type StreamOptions } from "../support/stream.ts";
import { OBJECT_HOSTS, type ObjectHost } from "./cloudflare_journal_server.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MAIN = "tests/services/cloudflare_hop_main.ts";
const START_MS = 30_000;
const REQUEST_MS = 20_000;

/** The older release in Miniflare, and the newer one by itself. */
export const HOP_HOSTS: readonly ObjectHost[] = OBJECT_HOSTS.filter(({ name }) =>
  name === "Miniflare, workerd 2026-04" || name === "workerd 2026-11"
);

/** What a socket's attachment says of its connection. */
export interface HopSocketState {
  readonly connection: string;
  readonly sent: number;
  readonly acked: number;
  readonly live: boolean;
}

/** The process and its folder. */
export class HopServer {
  readonly #host: ObjectHost;
  readonly #folder: string;
  #child: ChildProcess | undefined;
  #url = "";
  #log = "";

  private constructor(host: ObjectHost, folder: string) {
    this.#host = host;
    this.#folder = folder;
  }

  /**
   * Starts one on each host, all at once, and ends them after the work, whatever becomes of that.
   *
   * @param work What to do with each.
   */
  static async onEach(work: (server: HopServer) => Promise<void>): Promise<void> {
    const runs = HOP_HOSTS.map(async (host) => {
      const server = new HopServer(host, await mkdtemp(join(tmpdir(), "tidemark-hop-")));
      try {
        await server.start();
        await work(server);
      } catch (error) {
        throw server.withLog(error);
      } finally {
        await server.stop();
        await rm(server.#folder, { recursive: true, force: true });
      }
    });
    const failed = (await Promise.allSettled(runs)).find((run) => run.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  /** An error, with where it came up and what was written there. */
  withLog(error: unknown): unknown {
    if (error instanceof Error) error.message += `\n[${this.#host.name} wrote]\n${this.#log}`;
    return error;
  }

  /** Starts the process over the folder. */
  async start(): Promise<void> {
    const { kind, binary } = this.#host;
    const args = ["--import", "tsx", MAIN, kind, binary, this.#folder];
    const child = spawn("node", args, { cwd: ROOT });
    this.#child = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => this.#log += text);
    let out = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      this.#url = await new Promise<string>((resolve, reject) => {
        child.stdout.setEncoding("utf8").on("data", (text: string) => {
          out += text;
          const url = /^LISTEN (\S+)\n/m.exec(out)?.[1];
          if (url !== undefined) resolve(url);
        });
        child.once("exit", (code) => reject(new Error(`It ended with ${code}`)));
        timer = setTimeout(() => reject(new Error(`It did not listen: ${out}`)), START_MS);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Kills the process, and workerd with it. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined || child.exitCode !== null) return;
    const gone = once(child, "close");
    process.kill(child.pid, "SIGTERM");
    await gone;
  }

  #urlOf(path: string): string {
    return `${this.#url}/${path.startsWith("brisk/") ? "" : "room/"}${path}`;
  }

  /** Opens a stream of a room: `1?topic=b`, or `brisk/1`. */
  stream(room: string, options: StreamOptions = {}): Promise<EventStream> {
    return openStream(this.#urlOf(room), options);
  }

  /** Posts to a room, `1/publish`, and reads the answer's text. */
  async post(path: string, body: unknown = ""): Promise<string> {
    const response = await fetch(this.#urlOf(path), {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    return await response.text();
  }

  /**
   * Publishes on a room.
   *
   * @returns The offset; `null` when the object was reset meanwhile.
   */
  async publish(room: string, event: unknown): Promise<number | null> {
    const answer: unknown = JSON.parse(await this.post(`${room}/publish`, event));
    return typeof answer === "number" ? answer : null;
  }

  /** How often a room's memory has begun. */
  async births(room: string): Promise<number> {
    return Number(await this.post(`${room}/births`));
  }

  /** What a room's sockets keep. */
  async sockets(room: string): Promise<HopSocketState[]> {
    return JSON.parse(await this.post(`${room}/sockets`));
  }

  /** Runs a statement in a room's storage. */
  async sql(room: string, statement: string): Promise<Record<string, unknown>[]> {
    return JSON.parse(await this.post(`${room}/sql`, statement));
  }
}
