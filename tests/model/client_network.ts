/**
 * What lies between a client and a model server: requests, and bytes on their way. It is where things
 * are late, stall, and break at any byte.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import type { Fetch } from "../../src/client/types.ts";

/** How a line's bytes reach the client. */
export type BodyKind =
  /** By promises alone, so that a thousand schedules take no time. */
  | "model"
  /** By a `Response` and a `ReadableStream` of the runtime's own. */
  | "real";

/** A read that waits. */
interface Reading {
  resolve(result: ReadableStreamReadResult<Uint8Array>): void;
  reject(error: unknown): void;
}

/** One request, and the response to it. */
export class Line {
  /** What was asked, without an origin. */
  readonly url: string;
  readonly headers: Headers;
  /** `asked`, then `flowing` once there is a head, then `over`: ended, cut, cancelled or aborted. */
  phase: "asked" | "flowing" | "over" = "asked";
  /** Whether the server has sent all that it will: the line ends when the rest has gone through. */
  closing = false;
  /** Whether the client gave it up. */
  aborted = false;
  /** Whether the client was told of its end, or ended it. */
  settled = false;
  /** What the server has sent, and the client has not got. */
  #waiting: Uint8Array[] = [];
  /** What the client has got, and not read. */
  #arrived: Uint8Array[] = [];
  /** What the fetch returns. */
  readonly answer: Promise<Response>;
  #resolve: (response: Response) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #read: Reading | undefined;
  #end: { readonly error: unknown } | "clean" | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #kind: BodyKind;

  /**
   * @param kind How its bytes reach the client.
   * @param input What the client asked for.
   * @param init With what.
   */
  constructor(kind: BodyKind, input: string, init: RequestInit) {
    this.#kind = kind;
    this.url = input;
    this.headers = new Headers(init.headers);
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever gave it up does not wait for it.
    this.answer.catch(() => {});
    const { signal } = init;
    if (signal?.aborted) this.#abort(signal);
    else signal?.addEventListener("abort", () => this.#abort(signal), { once: true });
  }

  /** The head, as a server sends it; with status 200 a stream follows. */
  respond(status: number, headers: Readonly<Record<string, string>>): void {
    if (this.phase !== "asked") return;
    this.phase = "flowing";
    if (status !== 200 || headers["Content-Type"] === undefined) this.closing = true;
    const init = { status, headers };
    if (this.#kind === "real") {
      const none = status === 204 || status === 304;
      this.#resolve(new Response(none ? null : this.#stream(), init));
      if (none) this.#over("clean");
      return;
    }
    // All that the client uses of a response.
    const response = { status, headers: new Headers(headers), body: this.#body() };
    this.#resolve(response as unknown as Response);
  }

  /** The request fails. */
  refuse(): void {
    if (this.phase !== "asked") return;
    this.#over({ error: new TypeError("fetch failed") });
  }

  /** The server writes. */
  write(bytes: Uint8Array): void {
    if (this.phase !== "over" && !this.closing) this.#waiting.push(bytes);
  }

  /** How many bytes are on their way. */
  get waiting(): number {
    return this.#waiting.reduce((sum, { length }) => sum + length, 0);
  }

  /** Some bytes go through, in one chunk; then the end, if that is all. */
  flow(most: number): void {
    if (this.phase !== "flowing") return;
    const chunk: Uint8Array[] = [];
    for (let left = most; left > 0 && this.#waiting.length > 0;) {
      const first = this.#waiting.shift() ?? new Uint8Array();
      chunk.push(first.slice(0, left));
      if (first.length > left) this.#waiting.unshift(first.slice(left));
      left -= first.length;
    }
    const bytes = new Uint8Array(chunk.flatMap((piece) => [...piece]));
    if (bytes.length > 0) this.#deliver(bytes);
    if (this.closing && this.#waiting.length === 0) this.#over("clean");
  }

  /** It breaks here: what is on its way is lost. */
  cut(clean: boolean): void {
    if (this.phase !== "flowing") return this.refuse();
    this.#over(clean ? "clean" : { error: new TypeError("network error") });
  }

  #deliver(bytes: Uint8Array): void {
    if (this.#controller !== undefined) return this.#controller.enqueue(bytes);
    const read = this.#read;
    this.#read = undefined;
    if (read === undefined) this.#arrived.push(bytes);
    else read.resolve({ done: false, value: bytes });
  }

  #over(end: { readonly error: unknown } | "clean"): void {
    if (this.phase === "over") return;
    if (this.phase === "asked" && end !== "clean") this.#reject(end.error);
    this.phase = "over";
    this.#waiting = [];
    this.#end = end;
    if (this.#controller !== undefined) {
      if (end === "clean") this.#controller.close();
      else this.#controller.error(end.error);
      this.settled = true;
      return;
    }
    const read = this.#read;
    this.#read = undefined;
    if (read !== undefined) this.#tellEnd(read);
  }

  #tellEnd({ resolve, reject }: Reading): void {
    this.settled = true;
    if (this.#end === "clean") resolve({ done: true, value: undefined });
    else reject(this.#end?.error);
  }

  #abort(signal: AbortSignal): void {
    this.aborted = this.settled = true;
    // As a fetch does: what arrived and was not read is lost, too.
    this.#arrived = [];
    this.#over({ error: signal.reason });
  }

  #body(): unknown {
    const read = (): Promise<ReadableStreamReadResult<Uint8Array>> =>
      new Promise((resolve, reject) => {
        const value = this.#arrived.shift();
        if (value !== undefined) resolve({ done: false, value });
        else if (this.#end !== undefined) this.#tellEnd({ resolve, reject });
        else this.#read = { resolve, reject };
      });
    const cancel = (): Promise<void> => {
      this.settled = true;
      this.#over("clean");
      return Promise.resolve();
    };
    return { getReader: () => ({ read, cancel }), cancel };
  }

  #stream(): ReadableStream<Uint8Array> {
    return new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      cancel: () => {
        this.#controller = undefined;
        this.settled = true;
        this.#over("clean");
      },
    });
  }
}

/** All requests of a schedule. */
export class Network {
  readonly lines: Line[] = [];
  /** Called at each request. */
  onRequest: (line: Line) => void = () => {};
  readonly #kind: BodyKind;

  /** @param kind How bytes reach the client. */
  constructor(kind: BodyKind) {
    this.#kind = kind;
  }

  /** Hand this one to a client. */
  readonly fetch: Fetch = (input, init = {}) => {
    const line = new Line(this.#kind, String(input), init);
    this.lines.push(line);
    this.onRequest(line);
    return line.answer;
  };

  /** The newest request, if it is not over. */
  get live(): Line | undefined {
    const last = this.lines[this.lines.length - 1];
    return last?.phase === "over" ? undefined : last;
  }

  /** Lets what has been begun go on, as far as it can without time. */
  async turn(): Promise<void> {
    // All promises settle before it. A runtime's own streams take turns of the event loop, too.
    const turns = this.#kind === "model" ? 1 : 3;
    for (let i = 0; i < turns; i++) await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
