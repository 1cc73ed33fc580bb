/**
 * `GET /presence` and `GET /metrics`: what an operator may see.
 *
 * @module
 */
import { openMetrics } from "../../hub/metrics.ts";
import type { Logger } from "../../hub/options.ts";
import { json } from "../../hub/refusal.ts";
import type { StreamHub } from "../../hub/types.ts";
import { relayOpenMetrics } from "../relay/metrics.ts";
import type { RelayMembership } from "../types.ts";
import { type Access, guardOf } from "./access.ts";
import { answering, checkMethod } from "./refuse.ts";
import { sparing } from "./sparing.ts";
import type { Handler } from "./types.ts";

/** Options of {@linkcode presenceHandler} and {@linkcode metricsHandler}. */
export interface InspectOptions {
  /** The hub. */
  readonly hub: Pick<StreamHub, "presence" | "metrics">;
  /** The pod's place among its siblings, whose counters stand beside the hub's; none. */
  readonly membership?: Pick<RelayMembership, "metrics"> | undefined;
  /** Who may look. */
  readonly access: Access;
  /** Where failures are logged; `console`. */
  readonly logger?: Pick<Logger, "error">;
}

/**
 * Makes the handler of `GET /presence`: who is connected to this pod, `{ tags, topics, transitions }` as
 * {@linkcode StreamHub.presence} says it.
 *
 * @param options The hub, and who may look.
 * @returns The handler. Its refusals: 405 `presence_method`; 401 `unauthenticated`, the same without a
 * key and with a wrong one; 403 `forbidden`.
 */
export function presenceHandler(options: InspectOptions): Handler {
  return inspecting("presence", options, () => {
    const { topics, ...rest } = options.hub.presence();
    return json({ ...rest, topics: Object.fromEntries(topics) });
  });
}

/**
 * Makes the handler of `GET /metrics`: this pod's counters as OpenMetrics text, for a scraper.
 *
 * @param options The hub, and who may look.
 * @returns The handler. Its refusals: 405 `metrics_method`; 401 `unauthenticated`, the same without a key
 * and with a wrong one; 403 `forbidden`.
 */
export function metricsHandler(options: InspectOptions): Handler {
  const { hub, membership } = options;
  return inspecting("metrics", options, () => {
    const text = openMetrics(hub.metrics());
    const whole = membership === undefined
      ? text
      : text.replace(/# EOF\n$/, "") + relayOpenMetrics(membership.metrics());
    return new Response(whole, {
      headers: {
        "Content-Type": "application/openmetrics-text; version=1.0.0; charset=utf-8",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
      },
    });
  });
}

function inspecting(
  what: "presence" | "metrics",
  { access, logger }: InspectOptions,
  answer: () => Response,
): Handler {
  const guard = guardOf(access, `${what}.keys`);
  return answering(async (request) => {
    checkMethod(request, ["GET", "HEAD"], `${what}_method`);
    await guard(request);
    return answer();
  }, sparing(logger));
}
