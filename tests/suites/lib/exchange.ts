/**
 * One HTTP/1.1 exchange over a socket of its own: every byte sent and received is the caller's to
 * choose and to see. A stream can be read, left unread, read slowly, half closed, or dropped.
 *
 * @module
 */
import { BodyDecoder, type Framing, framingOf, parseHead, type ResponseHead } from "./http.ts";

/** What to send, and how to read what comes. */
export interface ExchangeOptions {
  /** The method; `GET`. */
  readonly method?: string;
  /** Headers to add, in order; one name may stand twice. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** The body; none. */
  readonly body?: string | Uint8Array;
  /** Reads at most so many bytes in a second. */
  readonly bytesPerSecond?: number;
  /** How many bytes one read may bring; 16 KiB. */
  readonly bufferBytes?: number;
  /** How long the response's head may take, in milliseconds; 10 000. */
  readonly headTimeoutMs?: number;
  /** The protocol's version in the request line; `1.1`. */
  readonly version?: "1.0" | "1.1";
}

/**
 * How a body ended: `complete` by its own framing, `cut` when the connection ended within it, `failed`
 * when the socket reported an error, `closed` by this side.
 */
export type Ending = "complete" | "cut" | "failed" | "closed";

/** An exchange whose response has begun. Its body is read from the moment it is asked for. */
export class Exchange {
  /** The response's head. */
  readonly head: ResponseHead;
  readonly #conn: Deno.Conn;
  readonly #framing: Framing;
  readonly #rest: Uint8Array;
  readonly #options: ExchangeOptions;
  #gate: { readonly open: Promise<void>; readonly release: () => void } | null = null;
  #closed = false;
  #reading = false;

  /**
   * @param conn The socket.
   * @param head The head that was read from it.
   * @param rest What was read beyond the head.
   * @param options How to read on.
   */
  constructor(conn: Deno.Conn, head: ResponseHead, rest: Uint8Array, options: ExchangeOptions) {
    this.#conn = conn;
    this.head = head;
    this.#rest = rest;
    this.#options = options;
    this.#framing = framingOf(head, options.method ?? "GET");
  }

  /**
   * Reads the body to its end. Called once.
   *
   * @param onBytes Given each piece, which it must not keep: the memory is used again.
   * @returns How it ended.
   */
  async read(onBytes: (bytes: Uint8Array) => void): Promise<Ending> {
    if (this.#reading) throw new Error("The body is being read already");
    this.#reading = true;
    try {
      return await this.#read(onBytes);
    } finally {
      this.close();
    }
  }

  async #read(onBytes: (bytes: Uint8Array) => void): Promise<Ending> {
    const decoder = new BodyDecoder(this.#framing, onBytes);
    decoder.feed(this.#rest);
    const rate = this.#options.bytesPerSecond;
    const buffer = new Uint8Array(this.#options.bufferBytes ?? 16_384);
    while (!decoder.done) {
      await this.#gate?.open;
      const started = performance.now();
      let count: number | null;
      try {
        count = await this.#conn.read(buffer);
      } catch {
        return this.#closed ? "closed" : "failed";
      }
      if (this.#closed) return "closed";
      if (count === null) return decoder.atEnd() ? "complete" : "cut";
      decoder.feed(buffer.subarray(0, count));
      if (rate !== undefined) await pause(started + (count / rate) * 1000 - performance.now());
    }
    return "complete";
  }

  /** Stops reading, after the read that is under way. */
  pause(): void {
    if (this.#gate !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = { open: promise, release: resolve };
  }

  /** Reads on. */
  resume(): void {
    this.#gate?.release();
    this.#gate = null;
  }

  /** Ends this side's direction alone: the socket can still be read. */
  async halfClose(): Promise<void> {
    await this.#conn.closeWrite();
  }

  /** Drops the socket. A second call does nothing. */
  close(): void {
    this.resume();
    if (this.#closed) return;
    this.#closed = true;
    try {
      this.#conn.close();
    } catch {
      // The runtime has closed it already.
    }
  }
}

/**
 * Sends a request on a new socket and reads the response's head.
 *
 * @param url Where to; `http:` only. The path and query are sent as they stand.
 * @param options What to send.
 * @returns The exchange.
 * @throws When the connection is refused, or ends or stays silent before the head is complete.
 */
export async function exchange(url: string, options: ExchangeOptions = {}): Promise<Exchange> {
  const { hostname, port, target } = split(url);
  const conn = await Deno.connect({ hostname, port });
  const timeoutMs = options.headTimeoutMs ?? 10_000;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    conn.close();
  }, timeoutMs);
  try {
    await writeAll(conn, request(`${hostname}:${port}`, target, options));
    const { head, rest } = await readHead(conn);
    return new Exchange(conn, head, rest, options);
  } catch (error) {
    if (late) throw new Error(`No response head within ${timeoutMs} ms from ${url}`);
    conn.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** A response whose body was read whole. */
export interface WholeResponse {
  /** Its head. */
  readonly head: ResponseHead;
  /** Its body as text. */
  readonly text: string;
}

/**
 * Sends a request and reads the whole response.
 *
 * @param url Where to.
 * @param options What to send.
 * @returns The response.
 * @throws When the body does not end by its own framing within `headTimeoutMs` after the head.
 */
export async function fetchRaw(url: string, options: ExchangeOptions = {}): Promise<WholeResponse> {
  const answer = await exchange(url, options);
  const timer = setTimeout(() => answer.close(), options.headTimeoutMs ?? 10_000);
  const decoder = new TextDecoder();
  let text = "";
  const ending = await answer.read((bytes) => text += decoder.decode(bytes, { stream: true }));
  clearTimeout(timer);
  if (ending !== "complete") throw new Error(`The body of ${url} ended as ${ending}: ${text}`);
  return { head: answer.head, text };
}

/** Splits by hand: `URL` would normalise the very characters that a test wants to send. */
function split(url: string): { hostname: string; port: number; target: string } {
  const match = /^http:\/\/([^/:?]+):(\d+)(.*)$/s.exec(url);
  if (match === null) throw new TypeError(`Not an http URL with a port: ${url}`);
  const target = match[3] ?? "";
  return {
    hostname: match[1] ?? "",
    port: Number(match[2]),
    target: target.startsWith("/") ? target : `/${target}`,
  };
}

function request(host: string, target: string, options: ExchangeOptions): Uint8Array {
  const body = typeof options.body === "string"
    ? new TextEncoder().encode(options.body)
    : options.body;
  const lines = [
    `${options.method ?? "GET"} ${target} HTTP/${options.version ?? "1.1"}`,
    `Host: ${host}`,
    ...(options.headers ?? []).map(([name, value]) => `${name}: ${value}`),
  ];
  const has = (name: string): boolean =>
    (options.headers ?? []).some(([given]) => given.toLowerCase() === name);
  if (body !== undefined && !has("content-length") && !has("transfer-encoding")) {
    lines.push(`Content-Length: ${body.length}`);
  }
  const head = new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`);
  if (body === undefined) return head;
  const whole = new Uint8Array(head.length + body.length);
  whole.set(head);
  whole.set(body, head.length);
  return whole;
}

async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
}

async function readHead(conn: Deno.Conn): Promise<{ head: ResponseHead; rest: Uint8Array }> {
  let seen = new Uint8Array(0);
  const buffer = new Uint8Array(4096);
  for (;;) {
    const count = await conn.read(buffer);
    if (count === null) throw new Error("The connection ended before the response's head did");
    const joined = new Uint8Array(seen.length + count);
    joined.set(seen);
    joined.set(buffer.subarray(0, count), seen.length);
    seen = joined;
    const parsed = parseHead(seen);
    if (parsed !== null) return parsed;
    if (seen.length > 65_536) throw new Error("The response's head is above 64 KiB");
  }
}

function pause(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}
