/**
 * The server of `http_surface_main.ts` in a process of its own, and requests as bytes on a socket: what
 * no client library would send. Runs under Deno.
 *
 * @module
 */
import { connect } from "node:net";
import { eventually } from "../support/poll.ts";
import { type Command, RUNTIMES } from "../support/runtimes.ts";
import type { SurfaceState } from "./http_surface_main.ts";

const ROOT = new URL("../../", import.meta.url);
const MAIN = "tests/services/http_surface_main.ts";
const START_MS = 30_000;
const ANSWER_MS = 10_000;
const FIXTURE_ONLY: ReadonlySet<string> = new Set(["--direct", "on", "off"]);

/** The only origin whose pages may use `/cors`. */
export const LISTED = "https://app.example.com";

/** The runtimes with an adapter that opens a port. */
export const SERVING = RUNTIMES.filter(({ name }) => ["deno", "bun", "node-direct"].includes(name));

/** What came back. */
export interface Answer {
  /** The status; 0 when the server closed the connection without a word. */
  readonly status: number;
  /** The headers, names in lower case. */
  readonly headers: readonly (readonly [string, string])[];
  /** The body, each byte a character. */
  readonly body: string;
}

/** How a request is sent. */
export interface Sending {
  /** Sent after the head, as it stands. */
  readonly body?: string | Uint8Array;
  /** The `Host`; `pod`. */
  readonly host?: string;
  /** Enough of the body of an answer that does not end: by default a stream's hello. */
  readonly until?: (body: string) => boolean;
}

/** What a runtime answers by itself, before any handler is called: a status alone, or not even that. */
const BY_RUNTIME = [0, 400, 404, 417, 431, 505];
/** What no answer may tell: a stack, a path of the machine, whose program it is. */
const TELLING = /\n {4}at |\.[jt]s\b|\/(?:home|usr|work|tmp)\/|node_modules|tidemark/i;
/** The names of the counters tell whose they are, to operators; the test's own route tells all. */
const TELLS = /^GET \/(?:state|sse\/metrics|cors\/metrics) /;

/** Sends requests to a port, and looks at each answer. */
export class Probe {
  /** Where to. */
  readonly port: number;
  /** The answers that no request may get, by its first line: see {@linkcode faultOf}. */
  readonly faults: string[] = [];

  /** @param port A port of 127.0.0.1. */
  constructor(port: number) {
    this.port = port;
  }

  /**
   * Sends one request on a connection of its own, and looks at the answer: see
   * {@linkcode Probe.faults}.
   *
   * @param head The request line and the headers, one a line, without `Host`, `Content-Length` for a body
   * that has none of its own, and the empty line. A LF alone is sent as CRLF.
   * @param sending What else.
   */
  async send(head: string, sending: Sending = {}): Promise<Answer> {
    const { body = "", host = "pod", until = (text) => text.includes("event: sse:hello") } =
      sending;
    const bytes = typeof body === "string" ? encoder.encode(body) : body;
    const isCounted = /^(?:content-length|transfer-encoding):/im.test(head);
    const lines = [...head.split("\n"), `Host: ${host}`];
    if (bytes.length > 0 && !isCounted) lines.push(`Content-Length: ${bytes.length}`);
    const parts = [Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), bytes];
    const answer = await exchange(this.port, parts, head.startsWith("HEAD ") ? () => true : until);
    const fault = faultOf(head, answer);
    if (fault !== null) this.faults.push(`${head.slice(0, 80)}: ${fault}`);
    return answer;
  }
}

/** A server in a process of its own. */
export class Surface extends Probe {
  readonly #program: Program;

  private constructor(program: Program, port: number) {
    super(port);
    this.#program = program;
  }

  /** Starts it, and waits until it listens. */
  static async start(command: Command): Promise<Surface> {
    const program = new Program(command);
    const port = await eventually(
      () => /^LISTEN http:.*:(\d+)\r?\n/m.exec(program.output)?.[1],
      { what: "the server to listen", timeoutMs: START_MS },
    );
    return new Surface(program, Number(port));
  }

  /** What it wrote on stdout and stderr. */
  get output(): string {
    return this.#program.output;
  }

  /** What the program knows of itself. */
  async state(): Promise<SurfaceState> {
    return JSON.parse((await this.send("GET /state HTTP/1.1")).body) as SurfaceState;
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program.end();
  }
}

/** A process. */
class Program {
  /** What it wrote. */
  output = "";
  readonly #child: Deno.ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor({ argv, env = {} }: Command) {
    const [program, ...args] = argv.map((arg) => arg.startsWith("src/") ? MAIN : arg);
    this.#child = new Deno.Command(program ?? "", {
      args: [...args.filter((arg) => !FIXTURE_ONLY.has(arg)), LISTED],
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

  async end(): Promise<void> {
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

const encoder = new TextEncoder();

/**
 * The status of an answer, and the code of a refusal: `405 sse_method`; `by the runtime` for what no
 * handler saw.
 *
 * @param answer The answer.
 */
export function told(answer: Answer): string {
  if (answer.status !== 0 && answer.status < 400) return String(answer.status);
  if (answer.body === "") return "by the runtime";
  return `${answer.status} ${JSON.parse(answer.body).code}`;
}

/** A header of an answer; `""` without one. */
export function header(answer: Answer, name: string): string {
  return answer.headers.find(([one]) => one === name)?.[1] ?? "";
}

/** What is wrong with an answer, whatever was asked; `null` for nothing. */
function faultOf(head: string, answer: Answer): string | null {
  const { status, headers, body } = answer;
  const names = headers.map(([name]) => name);
  if (!/^\S+ \/cors/.test(head) && names.some((name) => name.startsWith("access-control"))) {
    return "it has a CORS header";
  }
  if (names.includes("server") || names.includes("x-powered-by")) return "it names its server";
  if (!TELLS.test(head) && TELLING.test(JSON.stringify(headers) + body)) {
    return `it tells too much: ${body.slice(0, 200)}`;
  }
  // Of the test's own application, which throws for this user.
  const isMeant = status === 500 && head.includes("X-User: boom");
  if (status >= 500 && !isMeant && !BY_RUNTIME.includes(status)) {
    return `it is ${status} ${body.slice(0, 200)}`;
  }
  if (status !== 0 && status < 400) return null;
  if (body === "") {
    const isHead = head.startsWith("HEAD ");
    return isHead || BY_RUNTIME.includes(status) ? null : `${status} has no body`;
  }
  const { error, code, ...more } = JSON.parse(body);
  if (!/^[a-z_]+$/.test(code) || typeof error !== "string" || error.length > 200) return body;
  if (Object.keys(more).length > 0) return `the envelope has more: ${Object.keys(more)}`;
  if (header(answer, "content-type") !== "application/json") return "it is not JSON";
  if (header(answer, "x-content-type-options") !== "nosniff") return "it may be sniffed";
  return null;
}

/**
 * Sends bytes, and reads one answer.
 *
 * @param port Where to.
 * @param parts The bytes.
 * @param until Enough of a body.
 * @returns What came until the answer was whole, or the server closed the connection.
 * @throws {Error} When nothing of the kind happened in 10 s.
 */
export function exchange(
  port: number,
  parts: readonly Uint8Array[],
  until?: (body: string) => boolean,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    const settle = (answer: Answer): void => {
      clearTimeout(late);
      socket.destroy();
      resolve(answer);
    };
    const late = setTimeout(() => {
      socket.destroy();
      reject(
        new Error(`No whole answer in ${ANSWER_MS} ms: ${JSON.stringify(text.slice(0, 500))}`),
      );
    }, ANSWER_MS);
    socket.setEncoding("latin1");
    socket.on("data", (more: string) => {
      text += more;
      const answer = parse(text, until);
      if (answer !== null) settle(answer);
    });
    // A server that refuses a body need not read it: what it said before it closed is what counts.
    socket.on("error", () => {});
    socket.on(
      "close",
      () => settle(parse(text, () => true) ?? { status: 0, headers: [], body: "" }),
    );
    for (const part of parts) socket.write(part);
  });
}

/** The answer, or `null` while it is not whole. */
function parse(text: string, until?: (body: string) => boolean): Answer | null {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const [line = "", ...fields] = text.slice(0, end).split("\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(line)?.[1] ?? 0);
  // What comes before the answer to `Expect`.
  if (status === 100) return parse(text.slice(end + 4), until);
  const headers = fields.map((field) => {
    const colon = field.indexOf(":");
    return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()] as const;
  });
  const of = (name: string): string => headers.find(([one]) => one === name)?.[1] ?? "";
  const rest = text.slice(end + 4);
  const chunks = of("transfer-encoding") === "chunked" ? dechunk(rest) : null;
  const body = chunks?.body ?? rest;
  const length = of("content-length");
  const isWhole = chunks?.isWhole === true || status === 204 || status === 304 ||
    (length !== "" && rest.length >= Number(length));
  return isWhole || until?.(body) ? { status, headers, body } : null;
}

function dechunk(text: string): { readonly body: string; readonly isWhole: boolean } {
  let body = "";
  let at = 0;
  for (;;) {
    const end = text.indexOf("\r\n", at);
    const size = end < 0 ? NaN : Number.parseInt(text.slice(at, end), 16);
    if (size === 0) return { body, isWhole: true };
    if (!(size > 0) || text.length < end + 2 + size) return { body, isWhole: false };
    body += text.slice(end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
}
