/**
 * A server that does what it likes with each attempt, and how often a client then comes back.
 *
 * @module
 */
import fc from "fast-check";
import { createStream } from "../../src/client/stream.ts";
import type { StreamOptions } from "../../src/client/types.ts";
import { helloFrame, resetFrame } from "../../src/wire/control.ts";
import { encodeRetry } from "../../src/wire/frame.ts";
import { ModelClock } from "./client_clock.ts";
import { type Line, Network } from "./client_network.ts";
import { ModelVisibility } from "./client_sources.ts";

/** What happens to one attempt. */
export type Fate =
  | { readonly is: "lost" | "unanswered" | "speechless" | "of another type" }
  | { readonly is: "refused"; readonly status: number; readonly retryAfterS: number }
  | {
    readonly is: "open";
    /** The server's `retry:`. */
    readonly retryMs: number;
    /** How long it stays open. */
    readonly ms: number;
    readonly end: "clean" | "cut" | "slow" | "shutdown" | "second hello" | "silent";
  };

/** Any fate. */
export const anyFate: fc.Arbitrary<Fate> = fc.oneof(
  fc.constantFrom<Fate>(
    { is: "lost" },
    { is: "unanswered" },
    { is: "speechless" },
    { is: "of another type" },
    { is: "refused", status: 500, retryAfterS: 0 },
    { is: "refused", status: 429, retryAfterS: 1 },
    { is: "refused", status: 503, retryAfterS: 90 },
    { is: "refused", status: 302, retryAfterS: 0 },
  ),
  fc.record<Extract<Fate, { is: "open" }>>({
    is: fc.constant("open"),
    retryMs: fc.constantFrom(0, 1, 1500, 10_000_000),
    ms: fc.constantFrom(0, 10, 1000, 29_999, 30_000, 30_001, 45_000),
    end: fc.constantFrom("clean", "cut", "slow", "shutdown", "second hello", "silent"),
  }),
);

/** What surrounds a storm. */
export interface Storm {
  /** What happens to each attempt; after the last one it begins with the first again. */
  readonly fates: readonly Fate[];
  /** The chance of all waits: a number, or where a sequence begins. */
  readonly chance: { readonly always: number } | { readonly seed: number };
  /** After how many milliseconds each somebody looks at the page again. */
  readonly looks: readonly number[];
  readonly forMs: number;
  readonly options?: Partial<StreamOptions>;
}

/**
 * Lets a client run against it.
 *
 * @param storm The storm.
 * @returns When the client asked, in order, in milliseconds from its start.
 */
export async function weather(storm: Storm): Promise<readonly number[]> {
  const { fates, chance, looks, forMs, options } = storm;
  const clock = "seed" in chance ? new ModelClock(chance.seed) : new ModelClock(0, chance.always);
  const network = new Network("model");
  const visibility = new ModelVisibility();
  const asked: number[] = [];
  network.onRequest = (line) => {
    const fate = fates[asked.length % fates.length];
    asked.push(clock.now());
    if (fate !== undefined) befall(line, fate, clock);
  };
  const stream = createStream({
    url: "/events",
    fetch: network.fetch,
    clock,
    visibility,
    onFrame() {},
    ...options,
  });
  for (const at of looks) clock.after(at, () => visibility.say("visible"));
  stream.start();
  await clock.pass(forMs, () => network.turn());
  stream.stop();
  await network.turn();
  return asked;
}

function befall(line: Line, fate: Fate, clock: ModelClock): void {
  switch (fate.is) {
    case "lost":
      return line.refuse();
    case "unanswered":
      return;
    case "speechless":
      return line.respond(200, { "Content-Type": "text/event-stream" });
    case "of another type":
      return line.respond(200, { "Content-Type": "text/html" });
    case "refused":
      return line.respond(fate.status, { "Retry-After": String(fate.retryAfterS) });
    case "open": {
      const hello = helloFrame({
        wire: 1,
        epoch: "0000000000000001",
        floor: 0,
        head: 0,
        resumed: false,
        verdict: "fresh",
        keepaliveMs: 15_000,
        keepaliveEvent: "sse:keepalive",
      });
      line.respond(200, { "Content-Type": "text/event-stream" });
      line.write(encodeRetry(fate.retryMs));
      line.write(hello);
      line.flow(Infinity);
      clock.after(fate.ms, () => {
        const { end } = fate;
        if (end === "slow" || end === "shutdown") line.write(resetFrame(end));
        if (end === "second hello") line.write(hello);
        line.flow(Infinity);
        if (end !== "silent" && end !== "second hello") line.cut(end === "clean");
      });
    }
  }
}

/**
 * The most that came within any stretch of time.
 *
 * @param instants When they came, in order.
 * @param ms How long the stretch is.
 * @returns How many.
 */
export function busiest(instants: readonly number[], ms: number): number {
  let most = 0;
  instants.forEach((from, first) => {
    const count = instants.slice(first).filter((at) => at < from + ms).length;
    most = Math.max(most, count);
  });
  return most;
}
