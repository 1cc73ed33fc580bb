/**
 * A server over real sockets of which a test writes every byte of an answer: the head, too, and where
 * the answer stops, breaks off or is never given.
 *
 * It speaks no HTTP of its own but for reading requests, so that it can say what no proper server says.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { eventually } from "./poll.ts";

/** Ends the server's direction; the client's stays open. */
export const HALF_CLOSE = { verb: "half_close" } as const;
/** Drops the connection with a reset: nothing is said, and nothing more is taken. */
export const RESET = { verb: "reset" } as const;

/** One step of an answer: bytes as they are, a wait, or an end. */
export type Step = string | Uint8Array | Promise<unknown> | typeof HALF_CLOSE | typeof RESET;

/**
 * What one request is answered with, step by step. Where the steps end without an end of their own
 * the connection stays open, and another request may come on it.
 */
export type Script = readonly Step[];

/** One request, as it came. */
export interface Asked {
  /** Which one it is, from 1, over all connections. */
  readonly number: number;
  readonly method: string;
  /** The path and the query. */
  readonly target: string;
  readonly headers: Headers;
  readonly body: string;
}

/** The server. */
export class ScriptedServer {
  /** Every request whose head came whole, in order. */
  readonly asked: Asked[] = [];
  /** How many connections there have been. */
  connections = 0;
  readonly #server: Server;
  readonly #answer: (asked: Asked) => Script;
  readonly #sockets = new Set<Socket>();
  readonly #used = new Set<Socket>();
  #port = 0;

  /** @param answer Says what each request is answered with. */
  constructor(answer: (asked: Asked) => Script) {
    this.#answer = answer;
    // Else the platform would answer the client's end with one of its own.
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
  }

  /** Listens on a free port of this machine alone. */
  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("It listens on a port");
    this.#port = address.port;
  }

  /** Where it is, without a path. */
  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /**
   * How many sockets are open on which something was asked. After an abort Node's `fetch` opens another
   * on which it asks nothing, and keeps it for four seconds: that is nobody's answer.
   */
  get open(): number {
    return this.#used.size;
  }

  /** Waits until the clients have closed every socket on which they had asked something. */
  async empty(): Promise<void> {
    await eventually(() => this.open === 0, {
      what: "the end of every socket at the server",
      everyMs: 2,
    });
  }

  /** Drops what is open, and listens no more. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const closed = once(this.#server, "close");
    this.#server.close();
    await closed;
  }

  #accept(socket: Socket): void {
    this.connections++;
    this.#sockets.add(socket);
    let text = "";
    let busy = false;
    const next = (): void => {
      const request = busy ? null : readRequest(text);
      if (request === null) return;
      text = text.slice(request.length);
      busy = true;
      this.#used.add(socket);
      const asked = { ...request.asked, number: this.asked.length + 1 };
      this.asked.push(asked);
      void play(socket, this.#answer(asked)).then(() => {
        busy = false;
        next();
      });
    };
    socket.setNoDelay(true);
    socket.on("data", (bytes) => {
      // One character for each byte: a length in a head counts bytes.
      text += bytes.toString("latin1");
      next();
    });
    // A client that is gone takes nothing any more: what was under way ends with the socket.
    socket.on("end", () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.#used.delete(socket);
    });
  }
}

/**
 * Runs a test against a server, which is closed whatever the test does.
 *
 * @param answer Says what each request is answered with.
 * @param body The test.
 */
export async function serving(
  answer: (asked: Asked) => Script,
  body: (server: ScriptedServer) => Promise<void>,
): Promise<void> {
  const server = new ScriptedServer(answer);
  await server.listen();
  try {
    await body(server);
  } finally {
    await server.close();
  }
}

/** An address of this machine at which nobody listens. */
export async function deserted(): Promise<string> {
  const server = new ScriptedServer(() => []);
  await server.listen();
  await server.close();
  return server.origin;
}

/**
 * The head of an answer, whose body ends with the connection.
 *
 * @param status The status, and what stands behind it.
 * @param headers Lines of `Name: value`.
 */
export function head(status: number | string = 200, ...headers: readonly string[]): string {
  return [`HTTP/1.1 ${status} X`, ...headers, "Connection: close", "", ""].join("\r\n");
}

/** The head of a stream. */
export const STREAM: string = head(200, "Content-Type: text/event-stream");

async function play(socket: Socket, script: Script): Promise<void> {
  for (const step of script) {
    if (socket.destroyed) return;
    if (step instanceof Promise) await step;
    else if (typeof step === "string" || step instanceof Uint8Array) socket.write(step);
    else if (step.verb === "reset") socket.resetAndDestroy();
    else socket.end();
  }
}

/** The first request of what has come; `null` while it is not whole. */
function readRequest(
  text: string,
): { readonly asked: Omit<Asked, "number">; readonly length: number } | null {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const [method = "", target = ""] = first.split(" ");
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const length = end + 4 + Number(headers.get("Content-Length") ?? 0);
  if (text.length < length) return null;
  const body = text.slice(end + 4, length);
  return { asked: { method, target, headers, body }, length };
}
