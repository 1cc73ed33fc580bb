/**
 * A server of which a test writes every byte, behind a `fetch` of its own: no socket, no hub.
 *
 * @module
 */
import type { ClientClock, Fetch } from "../../../src/client/types.ts";
import type { FakeClock } from "../../../src/testing/fake_clock.ts";
import { helloFrame, lagFrames } from "../../../src/wire/control.ts";
import { encodeFrame, encodeIdOnly, encodeRetry, joinBytes } from "../../../src/wire/frame.ts";
import type { Verdict } from "../../../src/wire/hello.ts";
import { eventually } from "../../support/poll.ts";

/** The epoch of all that is not said to be of another. */
export const EPOCH = "00c0ffee00c0ffee";

/** The platform's time without its chance: a wait is what the server asks for, which is 1 ms. */
export const PROMPT: ClientClock = {
  now: () => performance.now(),
  random: () => 0,
  after(ms, callback) {
    const id = setTimeout(callback, ms);
    return () => clearTimeout(id);
  },
};

/**
 * Time that a test lets pass, without chance.
 *
 * @param clock The test's clock.
 */
export function still(clock: FakeClock): ClientClock {
  return {
    now: () => clock.monotonic(),
    random: () => 0,
    after: (ms, callback) => {
      const timer = clock.after(ms, callback);
      return () => timer.cancel();
    },
  };
}

/** What a test says of a hello; the rest is ordinary. */
export interface HelloLike {
  readonly verdict?: Verdict;
  readonly epoch?: string;
  readonly head?: number;
  readonly repair?: boolean;
  readonly keepaliveMs?: number;
  readonly revalidateSpreadMs?: number;
}

/** One connection, as the server sees it. */
export class Line {
  /** What was asked. */
  readonly request: Request;
  /** What the fetch was told besides. */
  readonly init: RequestInit;
  /** Whether the client has given it up. */
  gone = false;
  /** How many chunks the client has asked for: the one it waits for is counted. */
  asked = 0;
  readonly #chunks: (Uint8Array | null)[] = [];
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #wake = (): void => {};

  /**
   * @param request What was asked.
   * @param init What the fetch was told.
   */
  constructor(request: Request, init: RequestInit) {
    this.request = request;
    this.init = init;
  }

  /** The cursor that was presented; `null` when none was. */
  get presented(): string | null {
    return this.request.headers.get("Last-Event-ID");
  }

  /** The body: with no buffer of its own, so that a chunk is handed over when it is asked for. */
  body(): ReadableStream<Uint8Array> {
    return new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      pull: async (controller) => {
        this.asked++;
        while (this.#chunks.length === 0) {
          await new Promise<void>((resolve) => void (this.#wake = resolve));
        }
        const chunk = this.#chunks.shift() ?? null;
        if (this.gone) return;
        if (chunk === null) controller.close();
        else controller.enqueue(chunk);
      },
      cancel: () => this.#leave(),
    }, { highWaterMark: 0 });
  }

  /** Sends pieces as one chunk. */
  send(...pieces: readonly Uint8Array[]): void {
    this.#put(joinBytes(pieces));
  }

  /** Sends what every connection begins with. */
  hello(hello: HelloLike = {}): void {
    this.send(encodeRetry(1), greeting(hello));
  }

  /** Ends the body, after what was sent. */
  end(): void {
    this.#put(null);
  }

  /** Cuts the body off at once. */
  cut(): void {
    this.#leave();
    this.#controller?.error(new TypeError("the connection was cut"));
  }

  #leave(): void {
    this.gone = true;
    this.#put(null);
  }

  #put(chunk: Uint8Array | null): void {
    this.#chunks.push(chunk);
    this.#wake();
  }
}

/** The server. */
export class PuppetServer {
  /** Every connection so far, the refused ones not. */
  readonly lines: Line[] = [];
  /** How many requests came. */
  requests = 0;
  /** The address that a response says it came from; none, as of one that a program made. */
  from = "";
  /** The statuses of the next answers; when there is none left it is 200. */
  readonly refusals: number[] = [];

  /** Hand this one to a client. */
  readonly fetch: Fetch = (input, init = {}) => {
    this.requests++;
    init.signal?.throwIfAborted();
    const status = this.refusals.shift();
    if (status !== undefined) return Promise.resolve(new Response(null, { status }));
    const line = new Line(new Request(input, { headers: init.headers }), init);
    const response = new Response(line.body(), {
      headers: { "Content-Type": "text/event-stream" },
    });
    if (this.from !== "") Object.defineProperty(response, "url", { value: this.from });
    init.signal?.addEventListener("abort", () => line.gone || line.cut());
    this.lines.push(line);
    return Promise.resolve(response);
  };

  /**
   * Waits for a connection.
   *
   * @param number Which one, from 1.
   * @returns The connection.
   */
  line(number: number): Promise<Line> {
    return eventually(() => this.lines[number - 1], { what: `connection ${number}`, everyMs: 1 });
  }
}

/** A hello. */
export function greeting(hello: HelloLike = {}): Uint8Array {
  const { verdict = "fresh", epoch = EPOCH, head = 0, keepaliveMs = 15_000 } = hello;
  return helloFrame({
    wire: 1,
    epoch,
    floor: 0,
    head,
    resumed: verdict === "resumed",
    verdict,
    keepaliveMs,
    keepaliveEvent: "sse:keepalive",
    repair: hello.repair,
    revalidateSpreadMs: hello.revalidateSpreadMs,
  });
}

/** `<epoch>:<offset>`. */
export function at(offset: number, epoch: string = EPOCH): string {
  return `${epoch}:${offset}`;
}

/** A frame; with an offset it moves the cursor. */
export function frame(offset: number | null, data: string, name = ""): Uint8Array {
  return encodeFrame(offset === null ? null : at(offset), name, data);
}

/** A block of an id alone. */
export function mark(offset: number): Uint8Array {
  return encodeIdOnly(at(offset));
}

/** A hole in a connection's frames. */
export function lag(missed: number | null, from: number, to: number): Uint8Array {
  return lagFrames({ missed, from: at(from), to: at(to) });
}
