/**
 * A schedule of a client: what is done to its server, its network, its page and its application, step
 * by step.
 *
 * @module
 */
import fc from "fast-check";
import type { VisibilitySignal } from "../../src/client/types.ts";
import type { HubOptions } from "./client_hub.ts";
import type { BodyKind } from "./client_network.ts";

/** What a schedule varies. */
export interface WorldOptions extends HubOptions {
  readonly body: BodyKind;
  /** The chance of all waits. */
  readonly seed: number;
  readonly heldMaxFrames: number;
  readonly maxAttempts: number;
  readonly presentCursor: "header" | "query";
  /** Whether the address is fetched for each attempt. */
  readonly ticketed: boolean;
  /** Whether the cursor is kept, and how fast the store answers. */
  readonly store: "none" | "prompt" | "slow";
}

/** What an application may do to its stream, at any time. */
export type Call = "stop" | "start" | "reconnect" | "credentials" | "reset";

/** What the application does within a call back: after a `throw` nothing more. */
export type Act = Call | "throw";

/** Where it does it. */
export type Where = "frame" | "revalidate" | "lifecycle" | "lag";

/** One step. */
export type Step =
  | {
    readonly do: "publish";
    readonly count: number;
    readonly mine: boolean;
    readonly size: number;
  }
  | {
    readonly do:
      | "accept"
      | "drop"
      | "arrive"
      | "evict"
      | "mark"
      | "keepalive"
      | "noise"
      | "greetAgain";
  }
  | { readonly do: "refuse"; readonly status: number; readonly retryAfterS: number }
  | { readonly do: "flow"; readonly bytes: number }
  | { readonly do: "cut"; readonly clean: boolean }
  | { readonly do: "farewell"; readonly reason: "slow" | "shutdown" }
  | { readonly do: "restart"; readonly polite: boolean }
  | { readonly do: "lag" | "repeat"; readonly count: number }
  /** `wait`: nothing goes through meanwhile. `live`: everything does. `sleep`: no timer rings. */
  | { readonly do: "wait" | "live" | "sleep"; readonly ms: number }
  | { readonly do: "call"; readonly call: Call }
  | { readonly do: "plan"; readonly where: Where; readonly acts: readonly Act[] }
  | { readonly do: "runs"; readonly how: "ok" | "fail" | "wait"; readonly deaf: boolean }
  | { readonly do: "settle"; readonly ok: boolean }
  /** The store answers the oldest question, or the newest. */
  | { readonly do: "stored"; readonly newest: boolean }
  | { readonly do: "signal"; readonly signal: VisibilitySignal | "online" | "offline" }
  | { readonly do: "reload"; readonly keep: boolean };

/** The most frames that the hub of any schedule replays at once. */
const REPLY_MAX = 6;

type Named<D extends Step["do"]> = Extract<Step, { readonly do: D }>;

function plain(
  name: "accept" | "drop" | "arrive" | "evict" | "mark",
): fc.Arbitrary<Step> {
  return fc.constant<Step>({ do: name });
}

const call = fc.constantFrom<Call>(
  "start",
  "start",
  "start",
  "stop",
  "reconnect",
  "credentials",
  "reset",
);
const publish = fc.record<Named<"publish">>({
  do: fc.constant("publish"),
  count: fc.integer({ min: 1, max: 3 }),
  mine: fc.constantFrom(true, true, true, false),
  size: fc.nat({ max: 8 }),
});
const hubSteps = fc.oneof(
  { weight: 10, arbitrary: publish },
  { weight: 2, arbitrary: plain("evict") },
  { weight: 1, arbitrary: plain("mark") },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Step>(
      { do: "keepalive" },
      { do: "noise" },
      { do: "greetAgain" },
      { do: "repeat", count: 2 },
      { do: "farewell", reason: "slow" },
      { do: "farewell", reason: "shutdown" },
      { do: "restart", polite: true },
      { do: "restart", polite: false },
      { do: "lag", count: 1 },
      { do: "lag", count: 2 },
    ),
  },
);
const networkSteps = fc.oneof(
  { weight: 20, arbitrary: plain("arrive") },
  { weight: 3, arbitrary: plain("accept") },
  { weight: 1, arbitrary: plain("drop") },
  {
    weight: 4,
    arbitrary: fc.integer({ min: 1, max: 400 }).map((bytes): Step => ({ do: "flow", bytes })),
  },
  { weight: 4, arbitrary: fc.boolean().map((clean): Step => ({ do: "cut", clean })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Step>(
      { do: "refuse", status: 503, retryAfterS: 60 },
      { do: "refuse", status: 500, retryAfterS: 0 },
      { do: "refuse", status: 429, retryAfterS: 2 },
      { do: "refuse", status: 403, retryAfterS: 0 },
      { do: "refuse", status: 204, retryAfterS: 0 },
      // A body of another type.
      { do: "refuse", status: 200, retryAfterS: 0 },
    ),
  },
);
const timeSteps = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(50, 400, 1000, 1600, 2500).map((ms): Step => ({ do: "wait", ms })),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(2500, 31_000, 61_000).map((ms): Step => ({ do: "live", ms })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(10_500, 16_000, 31_000, 46_000, 61_000)
      .map((ms): Step => ({ do: "wait", ms })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(5000, 50_000, 600_000).map((ms): Step => ({ do: "sleep", ms })),
  },
);
const pageSteps = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom<Named<"signal">["signal"]>(
      "visible",
      "visible",
      "hidden",
      "pageshow",
      "pagehide",
      "online",
      "online",
      "offline",
    ).map((signal): Step => ({ do: "signal", signal })),
  },
  { weight: 1, arbitrary: fc.boolean().map((keep): Step => ({ do: "reload", keep })) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(false, false, true)
      .map((newest): Step => ({ do: "stored", newest })),
  },
);
const applicationSteps = fc.oneof(
  { weight: 2, arbitrary: call.map((made): Step => ({ do: "call", call: made })) },
  {
    weight: 3,
    arbitrary: fc.record<Named<"plan">>({
      do: fc.constant("plan"),
      where: fc.constantFrom<Where>("frame", "frame", "revalidate", "lifecycle", "lag"),
      acts: fc.array(fc.oneof(call, fc.constant<Act>("throw")), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record<Named<"runs">>({
      do: fc.constant("runs"),
      how: fc.constantFrom("ok", "fail", "wait", "wait"),
      deaf: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.boolean().map((ok): Step => ({ do: "settle", ok })) },
);

/** Any step. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: hubSteps },
  { weight: 7, arbitrary: networkSteps },
  { weight: 3, arbitrary: timeSteps },
  { weight: 2, arbitrary: pageSteps },
  { weight: 3, arbitrary: applicationSteps },
);

/** Steps of a page that stays: much on the wire, slow revalidations, and nobody who stops it. */
export const busyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: hubSteps },
  { weight: 4, arbitrary: plain("arrive") },
  { weight: 4, arbitrary: networkSteps },
  {
    weight: 4,
    arbitrary: fc.integer({ min: 20, max: 120 }).map((bytes): Step => ({ do: "flow", bytes })),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(400, 1000, 2500).map((ms): Step => ({ do: "live", ms })),
  },
  {
    weight: 4,
    arbitrary: fc.record<Named<"runs">>({
      do: fc.constant("runs"),
      how: fc.constantFrom("ok", "fail", "wait", "wait", "wait"),
      deaf: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(true, true, false).map((ok): Step => ({ do: "settle", ok })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Step>(
      { do: "plan", where: "frame", acts: ["throw"] },
      { do: "plan", where: "frame", acts: ["throw"] },
      { do: "plan", where: "frame", acts: ["reconnect"] },
      { do: "signal", signal: "visible" },
      { do: "signal", signal: "online" },
      { do: "stored", newest: false },
      { do: "stored", newest: false },
      { do: "reload", keep: true },
      { do: "reload", keep: false },
    ),
  },
);

/** Any options, but for how bytes reach the client. */
export const anyOptions: fc.Arbitrary<Omit<WorldOptions, "body">> = fc.record({
  ring: fc.constantFrom(50, 4, 0),
  budget: fc.constantFrom(REPLY_MAX, 2),
  repair: fc.constantFrom(false, true),
  spreadMs: fc.constantFrom(0, 3000),
  retryMs: fc.constantFrom(1500, 1),
  marks: fc.boolean(),
  seed: fc.nat(),
  // Never less than one reply: a client that cannot hold a reply can only begin again.
  heldMaxFrames: fc.constantFrom(2000, REPLY_MAX + 3),
  maxAttempts: fc.constantFrom(0, 0, 2),
  presentCursor: fc.constantFrom("header", "query"),
  ticketed: fc.boolean(),
  store: fc.constantFrom("none", "prompt", "slow"),
});
