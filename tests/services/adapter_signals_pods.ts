/**
 * Pods that drain on a signal, each a process of its own, and clients on plain sockets. Runs under
 * Deno.
 *
 * @module
 */
import { connect } from "node:net";
import { eventually } from "../support/poll.ts";
import type { Command } from "../support/runtimes.ts";
import type { PodTimes } from "./adapter_signals_main.ts";

const ROOT = new URL("../../", import.meta.url);
const MAIN = "tests/services/adapter_signals_main.ts";
const START_MS = 30_000;
const END_MS = 10_000;

/** How a pod ended. */
export interface Ended {
  /** Its exit code. */
  readonly code: number;
  /** Milliseconds from the signal to the end. */
  readonly afterMs: number;
}

/** A pod. */
export class Pod {
  /** What it wrote on stdout and stderr. */
  output = "";
  /** Its port. */
  port = 0;
  readonly #child: Deno.ChildProcess;
  readonly #ended: Promise<unknown>;

  /**
   * @param command What starts a program on its runtime; the last argument is the fixture's program.
   * @param times How long it lets each part take.
   */
  constructor({ argv, env = {} }: Command, times: PodTimes) {
    const [program, ...args] = argv.map((arg) => arg.startsWith("src/") ? MAIN : arg);
    this.#child = new Deno.Command(program ?? "", {
      args: [...args.filter((arg) => !FIXTURE_ONLY.has(arg)), JSON.stringify(times)],
      cwd: ROOT,
      env,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#ended = Promise.all([
      this.#child.status,
      this.#read(this.#child.stdout),
      this.#read(this.#child.stderr),
    ]);
  }

  /** Waits until it listens. */
  async listening(): Promise<this> {
    this.port = Number(
      await eventually(() => /^LISTEN http:.*:(\d+)\r?\n/m.exec(this.output)?.[1], {
        what: "the pod to listen",
        timeoutMs: START_MS,
      }),
    );
    return this;
  }

  /** Asks for a path. */
  async get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`);
    return { status: response.status, text: await response.text() };
  }

  /** Sends a signal. */
  signal(name: Deno.Signal): void {
    this.#child.kill(name);
  }

  /** Sends a signal and waits for the end, or ends it when that takes too long. */
  async ends(name: Deno.Signal): Promise<Ended> {
    const asked = performance.now();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), END_MS);
    this.signal(name);
    const { code } = await this.#child.status;
    const afterMs = performance.now() - asked;
    clearTimeout(timer);
    return { code, afterMs };
  }

  /** Ends it, whatever it does. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await this.#ended;
    await this.#child.stdin.close().catch(() => {});
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of stream) this.output += decoder.decode(bytes, { stream: true });
  }
}

const FIXTURE_ONLY: ReadonlySet<string> = new Set(["--direct", "on", "off"]);

/** A client of HTTP/1.1 that keeps its connection, as a browser does. */
export class SocketClient {
  /** All it was sent. */
  text = "";
  /** Whether its connection could not be opened. */
  refused = false;
  readonly #socket: ReturnType<typeof connect>;
  /** Settles when the connection is closed, by whomever. */
  readonly closed: Promise<void>;

  /**
   * @param port Where to.
   * @param again Whether to ask once more by the same connection as soon as a stream has ended.
   */
  constructor(port: number, again = false) {
    this.#socket = connect(port, "127.0.0.1");
    let asked = false;
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (text: string) => {
      this.text += text;
      if (!again || asked || !this.text.endsWith("\r\n0\r\n\r\n")) return;
      asked = true;
      this.#ask();
    });
    this.#socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") this.refused = true;
    });
    this.closed = new Promise((resolve) => this.#socket.on("close", () => resolve()));
    this.#ask();
  }

  /** Settles when the stream has said hello. */
  async hello(): Promise<this> {
    await eventually(() => this.text.includes("event: sse:hello"), { what: "a hello" });
    return this;
  }

  /** Reads no more. */
  pause(): void {
    this.#socket.pause();
  }

  /** Leaves. */
  close(): void {
    this.#socket.destroy();
  }

  #ask(): void {
    this.#socket.write("GET /events HTTP/1.1\r\nHost: pod\r\n\r\n");
  }
}
