/**
 * `GET /health` and `GET /ready`: what whoever runs the pods asks.
 *
 * @module
 */
import type { Logger } from "../../hub/options.ts";
import { json } from "../../hub/refusal.ts";
import type { HubState, StreamHub } from "../../hub/types.ts";
import { answering, checkMethod, HttpRefusal } from "./refuse.ts";
import { sparing } from "./sparing.ts";
import type { Handler } from "./types.ts";

/**
 * Makes the handler of `GET /health`: 200 for as long as the process answers, also while it drains. A
 * probe of it that fails is a reason to restart the pod.
 *
 * @returns The handler. It refuses other methods: 405 `health_method`.
 */
export function healthHandler(): Handler {
  return answering((request) => {
    checkMethod(request, ["GET", "HEAD"], "health_method");
    return json({ status: "ok" });
  }, console);
}

/** Options of {@linkcode readyHandler}. */
export interface ReadyOptions {
  /** The hub. */
  readonly hub: Pick<StreamHub, "state">;
  /** The pod's place among its siblings; none for a pod alone. */
  readonly membership?: { readonly ready: Promise<unknown> };
  /** Where failures are logged; `console`. */
  readonly logger?: Pick<Logger, "error">;
}

const REASONS: Readonly<Record<Exclude<HubState, "serving">, string>> = {
  lame_duck: "The hub is about to leave",
  draining: "The hub sends its clients away",
  stopped: "The hub has stopped",
};

/**
 * Makes the handler of `GET /ready`: 200 while the hub is `serving`, and its relay has confirmed the
 * subscription. A probe of it that fails is a reason to send new clients elsewhere.
 *
 * @param options The hub, and its place among its siblings.
 * @returns The handler. It refuses with 503 `not_ready`, and says why; other methods with 405
 * `ready_method`.
 */
export function readyHandler(options: ReadyOptions): Handler {
  const { hub, membership } = options;
  let joined: "yes" | "not yet" | "failed" = membership === undefined ? "yes" : "not yet";
  membership?.ready.then(() => joined = "yes", () => joined = "failed");
  return answering((request) => {
    checkMethod(request, ["GET", "HEAD"], "ready_method");
    const { state } = hub;
    if (state !== "serving") throw notReady(REASONS[state]);
    if (joined === "failed") throw notReady("The relay could not be joined");
    if (joined === "not yet") throw notReady("The relay has not confirmed the subscription yet");
    return json({ status: "ready" });
  }, sparing(options.logger));
}

function notReady(reason: string): HttpRefusal {
  return new HttpRefusal(503, "not_ready", reason);
}
