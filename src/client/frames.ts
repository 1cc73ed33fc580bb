/**
 * A stream's frames for a `for await` loop.
 *
 * @module
 */
import { GapError, RefusedError } from "../errors.ts";
import { parseCursor } from "../wire/cursor.ts";
import type { Verdict } from "../wire/hello.ts";
import type { LifecycleRecord } from "./records.ts";
import { openStream } from "./stream.ts";
import type { Frame, Stream, StreamOptions, StreamUrl } from "./types.ts";

/** Frames that a loop did not get, and will not. */
export interface Gap {
  /** How the server judged the cursor; `lag` when it dropped frames because the loop was too slow. */
  readonly reason: Verdict | "lag";
  /** How many frames are missing; `null` when it cannot be known. */
  readonly missed: number | null;
  /** The cursor before the gap, exclusive; `""` when there was none. */
  readonly from: string;
  /** The cursor at the gap's end, inclusive: what is fetched from now on makes up for it. */
  readonly to: string;
  /** Whether frames follow that make up for it, so that nothing needs to be fetched. */
  readonly repair: boolean;
}

/** Options of {@linkcode frames}: its own, and most of a stream's. */
export interface FramesOptions extends
  Omit<
    StreamOptions,
    | "url"
    | "onFrame"
    | "onLag"
    | "persist"
    | "revalidate"
    | "subscribeUrl"
    | "unsubscribeUrl"
    | "versions"
  > {
  /** Ends the loop, which then throws the signal's reason; none. */
  readonly signal?: AbortSignal;
  /**
   * The cursor to go on from: the `id` of the last frame that a loop before was done with. None: the
   * loop begins with what comes next.
   */
  readonly cursor?: string;
  /**
   * Told of each gap, in its place: after every frame before it, before any frame behind it, and
   * those wait until it has settled. What it throws ends the loop. Without it a gap ends the loop by
   * a {@linkcode GapError}.
   */
  onGap?(gap: Gap): void | Promise<void>;
}

type Failure = Extract<LifecycleRecord, { kind: "connect_failed" }>;

/**
 * Reads a stream in a loop.
 *
 * It connects when the loop asks for its first frame, reconnects and resumes by itself, and closes
 * the connection at once when the loop ends: by `break`, `return`, an exception or `signal`. What it
 * returns serves one loop.
 *
 * It never reads further ahead than one piece off the network: a loop that takes its time leaves the
 * rest to the server, which may then drop frames or close the connection. So a slow loop costs no
 * memory here; and nothing is lost in silence, for a gap is told to `onGap`, or thrown.
 *
 * @param url Where to; a function is called once for each attempt.
 * @param options How.
 * @returns The frames, in order, each once.
 * @throws {CursorError} At once, when `cursor` is none.
 * @throws {ConfigError} At once, when an option is out of bounds.
 * @throws {RefusedError} In the loop, when the server refuses for good, or `maxAttempts` are spent.
 * @throws {GapError} In the loop, when frames are missing and there is no `onGap`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { frames } from "@tidemark/sse/client";
 *
 * const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });
 * hub.publish({ name: "tick", data: "1" });
 * const cursor = `${hub.position().epoch}:${hub.position().head}`;
 * hub.publish({ name: "tick", data: "2" });
 * hub.publish({ name: "tick", data: "3" });
 *
 * // Only in this example: without it the network is asked.
 * const fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
 *   Promise.resolve(hub.serve(new Request(input, init)));
 *
 * const seen: string[] = [];
 * for await (const frame of frames("http://localhost/events", { cursor, fetch })) {
 *   seen.push(frame.data);
 *   if (seen.length === 2) break;
 * }
 * assertEquals(seen, ["2", "3"]);
 * await hub.shutdown();
 * ```
 */
export function frames(url: StreamUrl, options: FramesOptions = {}): AsyncIterableIterator<Frame> {
  const { signal, cursor = "", onGap, ...rest } = options;
  parseCursor(cursor);
  const mailbox = new Mailbox();
  const stream = connect(url, { ...rest, cursor, onGap }, mailbox);
  const leave = (end: () => void): void => {
    mailbox.drop(end);
    stream.stop();
  };

  async function* read(): AsyncGenerator<Frame, undefined> {
    signal?.throwIfAborted();
    const abort = (): void => leave(() => signal?.throwIfAborted());
    signal?.addEventListener("abort", abort, { once: true });
    try {
      stream.start();
      for (let item = await mailbox.take(); item !== undefined; item = await mailbox.take()) {
        if ("reason" in item) await onGap?.(item);
        else yield item;
      }
    } finally {
      signal?.removeEventListener("abort", abort);
      stream.stop();
    }
  }

  const generator = read();
  return {
    next: () => generator.next(),
    // A generator by itself lets these wait for the frame that its `next` waits for.
    return() {
      leave(() => {});
      return generator.return(undefined);
    },
    throw(error) {
      leave(() => {});
      return generator.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Makes a stream that fills a mailbox, and reads on only when it is empty. */
function connect(url: StreamUrl, options: FramesOptions, mailbox: Mailbox): Stream {
  const { cursor = "", onGap, ...rest } = options;
  let isOpen = false;
  let hasBegun = cursor !== "";
  let presented = cursor;
  let failure: Failure | undefined;
  let refusal: unknown;

  const report = (gap: Gap): void => {
    if (onGap !== undefined) return mailbox.put(gap);
    mailbox.close(() => {
      throw new GapError(gap);
    });
    stream.stop();
  };
  const note = (record: LifecycleRecord): void => {
    if (record.kind === "connect_failed") failure = record;
    if (record.kind === "state") {
      isOpen = record.to === "open";
      if (record.to === "connecting") presented = stream.cursor() || presented;
      if (record.to === "stopped" || record.to === "exhausted") {
        mailbox.close(() => refuse(failure, refusal));
        // What is exhausted would start anew when somebody looks, while the loop is still busy.
        stream.stop();
      }
    }
    if (record.kind === "hello") {
      const { resumed, verdict, repair, epoch, head } = record;
      const to = `${epoch}:${head}`;
      if (hasBegun && !resumed) {
        report({ reason: verdict, missed: null, from: presented, to, repair });
      }
      hasBegun = true;
    }
  };
  const stream = openStream({
    ...rest,
    // A record holds the words of an error alone; the loop is to throw the application's own.
    url: typeof url !== "function" ? url : async (attempt) => {
      try {
        return await url(attempt);
      } catch (error) {
        refusal = error;
        throw error;
      }
    },
    // What the loop was given before, its caller has dealt with.
    ...(cursor !== "" && {
      persist: { load: () => ({ cursor, unverified: false, stateKept: true }), save() {} },
    }),
    onFrame: (frame) => mailbox.put(frame),
    onLag: ({ missed, from, to }) => report({ reason: "lag", missed, from, to, repair: false }),
    onLifecycle(record) {
      try {
        rest.onLifecycle?.(record);
      } finally {
        // Last, for it may stop the stream, which makes a record of its own.
        note(record);
      }
    },
  }, {
    // A connection that has not said hello must not run out of time behind a full mailbox.
    ready: () => isOpen ? mailbox.room() : undefined,
  });
  return stream;
}

function refuse(failure: Failure | undefined, refusal: unknown): never {
  if (refusal instanceof RefusedError) throw refusal;
  if (failure === undefined) throw new RefusedError();
  const { attempt, status, detail } = failure;
  throw new RefusedError(`attempt ${attempt}: ${detail}`, status);
}

/** Hands over from who calls back to who asks. What fills it may ask for the moment it is empty. */
class Mailbox {
  #items: (Frame | Gap)[] = [];
  #end: (() => void) | null = null;
  #room: Promise<void> | undefined;
  #wake = (): void => {};
  #empty = (): void => {};

  put(item: Frame | Gap): void {
    this.#items.push(item);
    this.#wake();
  }

  /** When all is taken, `end` is called: it may throw. The first one counts. */
  close(end: () => void): void {
    this.#end ??= end;
    this.#wake();
  }

  /** Throws away what is inside: `end` is called next. */
  drop(end: () => void): void {
    this.#items = [];
    this.#end = end;
    this.#wake();
    this.#empty();
  }

  /** Settles when it is empty; `undefined`: it is. */
  room(): Promise<void> | undefined {
    if (this.#items.length === 0) return undefined;
    return this.#room ??= new Promise((resolve) => {
      this.#empty = () => {
        this.#room = undefined;
        resolve();
      };
    });
  }

  /** Takes the next; `undefined` after the end. For one at a time. */
  async take(): Promise<Frame | Gap | undefined> {
    for (;;) {
      const item = this.#items.shift();
      if (this.#items.length === 0) this.#empty();
      if (item !== undefined) return item;
      if (this.#end !== null) return void this.#end();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
