/**
 * What the tests of a client's edges share: time that a test moves by hand, and a stream of which
 * everything that it says is kept.
 *
 * @module
 */
import type { LifecycleRecord } from "../../../src/client/records.ts";
import { createStream } from "../../../src/client/stream.ts";
import type {
  ClientClock,
  Frame,
  Stream,
  StreamOptions,
  StreamState,
} from "../../../src/client/types.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { helloFrame } from "../../../src/wire/control.ts";
import { encodeFrame, encodeRetry, joinBytes } from "../../../src/wire/frame.ts";
import type { Hello } from "../../../src/wire/hello.ts";
import { eventually } from "../../support/poll.ts";

/** The epoch of all that is not said to be of another. */
export const EPOCH = "00c0ffee00c0ffee";
/** Another one. */
export const FOREIGN = "0123456789abcdef";

/** Time that stands still until a test moves it, and chance that a test chooses. */
export class HandClock implements ClientClock {
  /** What `random()` says. */
  chance = 0.5;
  readonly #time = new FakeClock();
  readonly #dues = new Set<{ readonly at: number }>();

  now(): number {
    return this.#time.monotonic();
  }

  random(): number {
    return this.chance;
  }

  after(ms: number, callback: () => void): () => void {
    const due = { at: this.now() + ms };
    this.#dues.add(due);
    const timer = this.#time.after(ms, () => {
      this.#dues.delete(due);
      callback();
    });
    return () => {
      this.#dues.delete(due);
      timer.cancel();
    };
  }

  /** How many waits are set. */
  get pending(): number {
    return this.#dues.size;
  }

  /** How long until the first wait is over; `Infinity` when there is none. */
  get left(): number {
    return Math.min(...[...this.#dues].map(({ at }) => at)) - this.now();
  }

  advance(ms: number): void {
    this.#time.advance(ms);
  }

  /** Moves on to the end of the first wait. */
  skip(): void {
    if (this.pending === 0) throw new Error("Nobody waits for anything");
    this.advance(this.left);
  }
}

/** A stream, and all that it has said. */
export interface Watched {
  readonly stream: Stream;
  readonly clock: HandClock;
  readonly records: LifecycleRecord[];
  readonly frames: Frame[];
}

/**
 * Makes a stream that is watched. It is not started.
 *
 * @param options Its address, and what else differs from the defaults.
 */
export function watch(options: Partial<StreamOptions> & Pick<StreamOptions, "url">): Watched {
  const clock = new HandClock();
  const records: LifecycleRecord[] = [];
  const frames: Frame[] = [];
  const stream = createStream({
    clock,
    onFrame: (frame) => frames.push(frame),
    onLifecycle: (record) => records.push(record),
    ...options,
  });
  return { stream, clock, records, frames };
}

/** The records of one kind, in order. */
export function only<K extends LifecycleRecord["kind"]>(
  records: readonly LifecycleRecord[],
  kind: K,
): Extract<LifecycleRecord, { readonly kind: K }>[] {
  return records.filter((record): record is Extract<LifecycleRecord, { readonly kind: K }> =>
    record.kind === kind
  );
}

/** Waits for a state. */
export async function reaches({ stream, records }: Watched, state: StreamState): Promise<void> {
  await eventually(() => stream.state() === state, {
    what: `${state}; it is ${stream.state()} after ${JSON.stringify(records.slice(-4))}`,
    everyMs: 1,
  });
}

/** `<epoch>:<offset>`. */
export function at(offset: number, epoch: string = EPOCH): string {
  return `${epoch}:${offset}`;
}

/** What every connection begins with. */
export function greeting(hello: Partial<Hello> = {}, retryMs = 1500): Uint8Array {
  const { verdict = "fresh" } = hello;
  return joinBytes([
    encodeRetry(retryMs),
    helloFrame({
      wire: 1,
      epoch: EPOCH,
      floor: 0,
      head: 0,
      resumed: verdict === "resumed",
      verdict,
      keepaliveMs: 15_000,
      keepaliveEvent: "sse:keepalive",
      ...hello,
    }),
  ]);
}

/** A frame; with an offset it moves the cursor. */
export function frame(offset: number | null, data: string, name = ""): Uint8Array {
  return encodeFrame(offset === null ? null : at(offset), name, data);
}

/** Something that a server waits for until a test lets it go on. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** Makes a gate that is shut. */
export function gate(): Gate {
  // Node 20 has no `Promise.withResolvers`.
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => open = resolve);
  return { opened, open: () => open() };
}

/** Lets every promise that can settle do so. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
