/**
 * Frames off a live stream, for tests.
 *
 * @module
 */
import { Parser } from "../wire/parser.ts";

/** One frame as a test reads it. */
export interface Frame {
  /** The `event:` field; `""` when there was none. Of a `retry:` block it is `retry`. */
  readonly event: string;
  /** The data, its lines joined by LF. Of a `retry:` block it is the number. */
  readonly data: string;
  /** The frame's own `id:`; `""` when it had none. */
  readonly id: string;
}

/** Options of {@linkcode readFrames} and {@linkcode FrameReader.read}. */
export interface ReadOptions {
  /** How long to wait for the frames, in milliseconds; 10 000. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;

/**
 * Turns bytes into frames. A `retry:` field is a frame of its own, for a test of the stream's opening
 * wants to see it; comments and blocks which hold an id alone are skipped.
 */
class FrameBuffer {
  readonly frames: Frame[] = [];
  readonly #parser = new Parser({
    onEvent: ({ name, data, id }) => this.frames.push({ event: name, data, id: id ?? "" }),
    onRetry: (ms) => this.frames.push({ event: "retry", data: String(ms), id: "" }),
  });

  feed(bytes: Uint8Array): void {
    this.#parser.feed(bytes);
  }
}

/**
 * Reads the frames of bytes at hand.
 *
 * @param chunks The bytes, in order.
 * @returns The whole frames in them.
 */
export function parseFrames(chunks: readonly Uint8Array[]): Frame[] {
  const buffer = new FrameBuffer();
  for (const chunk of chunks) buffer.feed(chunk);
  return buffer.frames;
}

/**
 * Reads successive batches of frames off one live stream.
 *
 * What arrived beyond a batch stays for the next one, also after a timeout. Between two reads the
 * stream is not locked, so `response.body.cancel()` works too.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { FrameReader } from "@tidemark/sse/testing";
 *
 * const hub = createHub();
 * const response = hub.serve(new Request("http://localhost/events"));
 * const reader = new FrameReader(response.body);
 * const [retry, hello] = await reader.read(2);
 * assertEquals([retry?.event, retry?.data, hello?.event], ["retry", "1500", "sse:hello"]);
 *
 * hub.publish({ name: "tick", data: "1" });
 * assertEquals((await reader.read(1))[0]?.data, "1");
 * await reader.cancel();
 * await hub.shutdown();
 * ```
 */
export class FrameReader {
  readonly #body: ReadableStream<Uint8Array>;
  readonly #buffer = new FrameBuffer();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** A read that a timeout left behind: the next batch goes on with it. */
  #pending: Promise<ReadableStreamReadResult<Uint8Array>> | undefined;

  /**
   * A reader for one stream.
   *
   * @param body The stream; `null`, as an answer without a body has it, is refused.
   * @throws {TypeError} When there is no stream.
   */
  constructor(body: ReadableStream<Uint8Array> | null) {
    if (body === null) throw new TypeError("Cannot read frames: the response has no body");
    this.#body = body;
  }

  /**
   * Waits for the next frames.
   *
   * @param n How many.
   * @param options How long.
   * @returns Exactly `n` frames.
   * @throws {Error} When the stream ends, fails or stays silent before: the message tells how many
   * had arrived. They are kept: a later read begins with them.
   */
  async read(n: number, options: ReadOptions = {}): Promise<Frame[]> {
    const cannot = `Cannot read ${n} frames`;
    if (await this.#fill(n, options, cannot) === "ended") {
      throw new Error(`${cannot}: the stream ended, ${this.#arrived} had arrived`);
    }
    return this.#buffer.frames.splice(0, n);
  }

  /**
   * Waits until the stream ends in good order.
   *
   * @param options How long.
   * @returns The frames that were left, in order.
   * @throws {Error} When the stream fails, or has not ended in time.
   */
  async readToEnd(options: ReadOptions = {}): Promise<Frame[]> {
    await this.#fill(Infinity, options, "Cannot read to the end");
    return this.#buffer.frames.splice(0);
  }

  /** Leaves the stream: the server sees its peer go. A second call does nothing. */
  async cancel(): Promise<void> {
    this.#pending = undefined;
    const reader = this.#reader ?? this.#body.getReader();
    this.#reader = undefined;
    await reader.cancel().catch(() => {});
    reader.releaseLock();
  }

  get #arrived(): number {
    return this.#buffer.frames.length;
  }

  /** Reads until there are so many frames, or the stream has ended. */
  async #fill(n: number, options: ReadOptions, cannot: string): Promise<"enough" | "ended"> {
    const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const expired = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), timeoutMs);
    });
    try {
      while (this.#arrived < n) {
        const result = await Promise.race([this.#next(), expired]);
        if (result === null) {
          throw new Error(`no more came within ${timeoutMs} ms`);
        }
        if (result.done) return "ended";
        this.#buffer.feed(result.value);
      }
      return "enough";
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`${cannot}: ${reason}, ${this.#arrived} had arrived`, { cause });
    } finally {
      clearTimeout(timer);
      this.#release();
    }
  }

  /** The next chunk. A read that a timeout left behind goes on: its chunk must not be lost. */
  #next(): Promise<ReadableStreamReadResult<Uint8Array>> {
    this.#reader ??= this.#body.getReader();
    this.#pending ??= this.#reader.read().finally(() => this.#pending = undefined);
    return this.#pending;
  }

  /** Unlocks the stream, unless a read is on its way. */
  #release(): void {
    if (this.#pending !== undefined) return;
    this.#reader?.releaseLock();
    this.#reader = undefined;
  }
}

/** One reader for each body, so that what one call of `readFrames` left over the next one finds. */
const readers = new WeakMap<ReadableStream<Uint8Array>, FrameReader>();

/**
 * Reads the next frames of a stream in one call.
 *
 * @param body A response's body. Calling again goes on where the last call stopped.
 * @param n How many frames. A `retry:` block counts as one, with the event `retry`; comments and
 * blocks which hold an id alone do not count.
 * @param options How long to wait.
 * @returns Exactly `n` frames.
 * @throws {Error} When the stream ends, fails or stays silent before; the message tells how many had
 * arrived.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { readFrames } from "@tidemark/sse/testing";
 *
 * const hub = createHub();
 * const { body } = hub.serve(new Request("http://localhost/events"));
 * const frames = await readFrames(body, 2);
 * assertEquals(frames.map((frame) => frame.event), ["retry", "sse:hello"]);
 * await body?.cancel();
 * await hub.shutdown();
 * ```
 */
export function readFrames(
  body: ReadableStream<Uint8Array> | null,
  n: number,
  options: ReadOptions = {},
): Promise<Frame[]> {
  let reader = body === null ? undefined : readers.get(body);
  if (reader === undefined) {
    reader = new FrameReader(body);
    if (body !== null) readers.set(body, reader);
  }
  return reader.read(n, options);
}
