/**
 * Hubs in Durable Objects over a folder that outlasts their process, for a test to start, to kill and to
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

/** Where the objects run. */
export interface ObjectHost {
  /** Its name, for reports. */
  readonly name: string;
  /** What starts workerd. */
  readonly kind: "miniflare" | "serve";
  /** The workerd that is started. */
  readonly binary: string;
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MAIN = "tests/services/cloudflare_journal_main.ts";
const START_MS = 30_000;
const REQUEST_MS = 20_000;

const OLD = join(ROOT, "node_modules/miniflare/node_modules/workerd/bin/workerd");
const NEW = join(ROOT, "node_modules/workerd/bin/workerd");

/** Both releases of workerd, each in Miniflare and by itself. */
export const OBJECT_HOSTS: readonly ObjectHost[] = [
  { name: "Miniflare, workerd 2026-04", kind: "miniflare", binary: OLD },
  { name: "Miniflare, workerd 2026-11", kind: "miniflare", binary: NEW },
  { name: "workerd 2026-04", kind: "serve", binary: OLD },
  { name: "workerd 2026-11", kind: "serve", binary: NEW },
];

/** What a publication came to: its offset, or the fields of the error that it threw. */
export type Published = number | {
  readonly message: string;
  readonly code?: string;
  readonly fault?: string;
};

/** The process and its folder. */
export class ObjectServer {
  readonly #host: ObjectHost;
  readonly #folder: string;
  readonly #fileBytes: number;
  #child: ChildProcess | undefined;
  #url = "";
  #log = "";

  private constructor(host: ObjectHost, folder: string, fileBytes: number) {
    this.#host = host;
    this.#folder = folder;
    this.#fileBytes = fileBytes;
  }

  /**
   * Starts one, and ends it and removes its folder after the work, whatever becomes of that.
   *
   * @param host Where.
   * @param work What to do with it.
   * @param fileBytes The most bytes that a file may have, where the host is plain workerd; 0 for none.
   */
  static async with(
    host: ObjectHost,
    work: (server: ObjectServer) => Promise<void>,
    fileBytes = 0,
  ): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), "tidemark-objects-"));
    const server = new ObjectServer(host, folder, fileBytes);
    try {
      await server.start();
      await work(server);
    } catch (error) {
      if (error instanceof Error) error.message += `\n[${host.name} wrote]\n${server.log}`;
      throw error;
    } finally {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** What all of its processes wrote on stderr. */
  get log(): string {
    return this.#log;
  }

  /** Starts the process over the folder. */
  async start(): Promise<void> {
    const { kind, binary } = this.#host;
    const args = [MAIN, kind, binary, this.#folder, String(this.#fileBytes)];
    const child = spawn("node", ["--import", "tsx", ...args], { cwd: ROOT });
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

  /** Kills it and starts another one over what it left. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Opens a stream of a hub: `room/a?topic=b`. */
  stream(path: string, options: StreamOptions = {}): Promise<EventStream> {
    return openStream(`${this.#url}/${path}`, options);
  }

  /** Asks for a stream as a client of this library does, and reads the answer whole. */
  async ask(path: string, headers: Record<string, string> = {}): Promise<Response> {
    const signal = AbortSignal.timeout(REQUEST_MS);
    const response = await fetch(`${this.#url}/${path}`, { headers, signal });
    return new Response(await response.text(), response);
  }

  /** Posts to a hub, `room/a/publish`, and reads the answer's text. */
  async post(path: string, body: unknown = ""): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.#url}/${path}`, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Publishes on a hub: `room/a`. */
  async publish(hub: string, event: unknown): Promise<Published> {
    // What the Worker of these tests answers.
    return JSON.parse((await this.post(`${hub}/publish`, event)).text) as Published;
  }

  /** Drops an object with everything that it has in memory. */
  async reset(hub: string): Promise<void> {
    const before = await this.born(hub);
    await this.post(`${hub}/reset`);
    if (await this.born(hub) === before) throw new Error("The object is still the same");
  }

  /** Another text for each time that the object's memory begins. */
  async born(hub: string): Promise<string> {
    return (await this.post(`${hub}/born`)).text;
  }

  /** Runs a statement in an object's storage. */
  async sql(hub: string, statement: string): Promise<unknown> {
    const { status, text } = await this.post(`${hub}/sql`, statement);
    if (status !== 200) throw new Error(text);
    return JSON.parse(text);
  }
}
