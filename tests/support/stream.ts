/**
 * A client of a hub for tests: one stream over one socket, which keeps every block it was sent and
 * checks each against what holds on every connection.
 *
 * @module
 */
import { Audit, type WireHello } from "../suites/lib/audit.ts";
import { type Block, BlockReader, type EventBlock, WireError } from "../suites/lib/blocks.ts";
import {
  type Ending,
  type Exchange,
  exchange,
  type ExchangeOptions,
} from "../suites/lib/exchange.ts";

/** How to open a stream. */
export interface StreamOptions extends ExchangeOptions {
  /** The cursor to present in `Last-Event-ID`; none. */
  readonly cursor?: string;
  /** The client's tag, sent as `SSE-Client`; none. */
  readonly tag?: string;
  /** Whether blocks are kept in {@linkcode EventStream.blocks}; true. */
  readonly keep?: boolean;
  /** Given each block after it was checked. */
  onBlock?(block: Block, stream: EventStream): void;
}

/** An open stream. */
export class EventStream {
  /** The response's status. */
  readonly status: number;
  /** The response's headers. */
  readonly headers: Headers;
  /** Every block so far, in order. */
  readonly blocks: Block[] = [];
  /** What every connection is checked for, and what the blocks have told so far. */
  readonly audit: Audit;
  /** Settles when the stream has ended, whoever ended it, with how it ended. Never rejects. */
  readonly ended: Promise<Ending>;
  /** The first thing wrong with what was received; `null` while all is well. */
  fault: Error | null = null;
  /** How many bytes of the body came. */
  bytes = 0;
  readonly #exchange: Exchange;
  readonly #reader: BlockReader;
  readonly #waiting = new Set<() => void>();
  #ending: Ending | null = null;

  /**
   * @param answer The exchange, whose body was not read yet.
   * @param options How it was opened.
   */
  constructor(answer: Exchange, options: StreamOptions) {
    this.#exchange = answer;
    this.status = answer.head.status;
    this.headers = answer.head.headers;
    this.audit = new Audit(options.cursor ?? "");
    this.#reader = new BlockReader((block) => {
      this.audit.see(block);
      if (options.keep !== false) this.blocks.push(block);
      options.onBlock?.(block, this);
    });
    this.ended = this.#run();
  }

  async #run(): Promise<Ending> {
    let ending: Ending = "failed";
    try {
      ending = await this.#exchange.read((bytes) => {
        this.bytes += bytes.length;
        this.#reader.feed(bytes);
        this.#wake();
      });
    } catch (error) {
      this.fault = error instanceof Error ? error : new Error(String(error));
    }
    this.#ending = ending;
    this.#wake();
    return ending;
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  /** How the stream ended; `null` while it is open. */
  get ending(): Ending | null {
    return this.#ending;
  }

  /** The events so far that carry an id, in order. */
  get durable(): EventBlock[] {
    return this.blocks.filter((block): block is EventBlock =>
      block.kind === "event" && block.id !== null
    );
  }

  /** The offsets of {@linkcode durable}. */
  get offsets(): number[] {
    return this.durable.map((block) => Number(block.id?.slice(17)));
  }

  /** How many keepalives have come, by their default name. */
  get keepalives(): number {
    return this.blocks.filter((block) => block.kind === "event" && block.name === "sse:keepalive")
      .length;
  }

  /**
   * Waits until something holds, asking after every piece that arrives.
   *
   * @param what What is waited for, for the message.
   * @param ask Answers with a value once it holds; `undefined`, `null`, `false` and `""` mean not
   * yet.
   * @param timeoutMs How long it may take; 10 000.
   * @returns The answer.
   * @throws When it takes longer, or the stream ends or breaks the wire before.
   */
  async until<T>(
    what: string,
    ask: (stream: EventStream) => T | undefined | null | false,
    timeoutMs = 10_000,
  ): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      if (this.fault !== null) throw this.fault;
      const answer = ask(this);
      if (answer !== undefined && answer !== null && answer !== false && answer !== "") {
        return answer;
      }
      if (this.#ending !== null) {
        throw new Error(`The stream ended (${this.#ending}) before ${what}.\n${this.tail()}`);
      }
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`Not within ${timeoutMs} ms: ${what}.\n${this.tail()}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, left);
      this.#waiting.add(resolve);
      await promise;
      clearTimeout(timer);
      this.#waiting.delete(resolve);
    }
  }

  /** Waits for the hello. */
  hello(timeoutMs?: number): Promise<WireHello> {
    return this.until("the hello", ({ audit }) => audit.hello, timeoutMs);
  }

  /** Waits for so many events that carry an id, and returns them. */
  async events(count: number, timeoutMs?: number): Promise<EventBlock[]> {
    return await this.until(`${count} events with an id`, ({ durable }) => {
      return durable.length >= count && durable;
    }, timeoutMs);
  }

  /** Waits until an id has covered an offset: all that this connection gets up to there has come. */
  async reached(offset: number, timeoutMs?: number): Promise<void> {
    await this.until(`offset ${offset}`, ({ audit }) => audit.offset >= offset, timeoutMs);
  }

  /** Waits for the end of the stream. */
  async end(timeoutMs = 10_000): Promise<Ending> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const message = (): string => `The stream is open after ${timeoutMs} ms.\n${this.tail()}`;
      timer = setTimeout(() => reject(new Error(message())), timeoutMs);
    });
    try {
      const ending = await Promise.race([this.ended, late]);
      if (this.fault !== null) throw this.fault;
      return ending;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Stops reading the socket, after the read that is under way. */
  pause(): void {
    this.#exchange.pause();
  }

  /** Reads on. */
  resume(): void {
    this.#exchange.resume();
  }

  /** Ends this side's direction alone. */
  halfClose(): Promise<void> {
    return this.#exchange.halfClose();
  }

  /**
   * Drops the socket.
   *
   * @throws The first thing wrong with what was received: so no test passes over it.
   */
  async close(): Promise<void> {
    this.#exchange.close();
    await this.ended;
    if (this.fault instanceof WireError) throw this.fault;
  }

  /** The last blocks, for messages. */
  tail(): string {
    const blocks = this.blocks.slice(-8).map(({ raw }) => raw.slice(0, 200));
    const unfinished = this.#reader.unfinished.slice(0, 200);
    return [`${this.blocks.length} blocks, the last:`, ...blocks, unfinished].join("\n--\n");
  }
}

/**
 * Opens a stream.
 *
 * @param url Where to.
 * @param options How.
 * @returns The stream, once its head has come.
 * @throws When no head comes, or its status is not 200.
 */
export async function openStream(url: string, options: StreamOptions = {}): Promise<EventStream> {
  const headers = [...options.headers ?? []];
  if (options.cursor !== undefined) headers.push(["Last-Event-ID", options.cursor]);
  if (options.tag !== undefined) headers.push(["SSE-Client", options.tag]);
  const answer = await exchange(url, { ...options, headers });
  if (answer.head.status !== 200) {
    answer.close();
    throw new Error(`Status ${answer.head.status} from ${url}`);
  }
  return new EventStream(answer, options);
}
