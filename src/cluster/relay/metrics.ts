/**
 * What a pod counts at its relay.
 *
 * @module
 */
import type { RelayMetrics } from "../types.ts";

/** The counters, all but the gauge. */
export type RelayCounters = { -readonly [K in Exclude<keyof RelayMetrics, "siblings">]: number };

/** Counters that stand at 0. */
export function zeroCounters(): RelayCounters {
  return {
    ...{ sent: 0, unsent: 0, received: 0, echoes: 0, duplicates: 0, malformed: 0, foreign: 0 },
    ...{ refused: 0, gaps: 0, asked: 0, timedOut: 0, answered: 0 },
  };
}

const COUNTERS: readonly (readonly [keyof RelayCounters, string, string])[] = [
  ["sent", "sent", "Envelopes sent."],
  ["unsent", "unsent", "Envelopes that could not be sent."],
  ["received", "received", "Envelopes of siblings taken."],
  ["echoes", "echoes", "Envelopes of its own dropped."],
  ["duplicates", "duplicates", "Envelopes that came twice and were dropped."],
  ["malformed", "malformed", "Messages that are no envelope."],
  ["foreign", "foreign", "Envelopes of another version."],
  ["refused", "refused", "Events of siblings that the hub refused."],
  ["gaps", "gaps", "Losses that clients were told of."],
  ["asked", "asked", "Commands asked of siblings."],
  ["timedOut", "timed_out", "Commands that nobody answered in time."],
  ["answered", "answered", "Commands of siblings carried out."],
];

/**
 * Writes a membership's counters as OpenMetrics text (version 1.0.0). To serve them in one answer with
 * a hub's, cut the last line, `# EOF`, off the first text.
 *
 * @param metrics What {@linkcode RelayMembership.metrics} returned.
 * @returns The text, ended by `# EOF`.
 *
 * @example
 * ```ts
 * import { assertStringIncludes } from "@std/assert";
 * import { createHub, joinRelay, openMetrics, relayOpenMetrics } from "@tidemark/sse";
 * import { createMemoryRelay } from "@tidemark/sse/relay/memory";
 *
 * const hub = createHub();
 * const membership = joinRelay(hub, createMemoryRelay());
 * await membership.ready;
 * const text = openMetrics(hub.metrics()).replace("# EOF\n", "") +
 *   relayOpenMetrics(membership.metrics());
 * assertStringIncludes(text, "tidemark_relay_gaps_total 0\n");
 * await membership.leave();
 * ```
 */
export function relayOpenMetrics(metrics: RelayMetrics): string {
  return [
    "# TYPE tidemark_relay_siblings gauge",
    "# HELP tidemark_relay_siblings Pods heard of.",
    `tidemark_relay_siblings ${metrics.siblings}`,
    ...COUNTERS.flatMap(([key, name, help]) => [
      `# TYPE tidemark_relay_${name} counter`,
      `# HELP tidemark_relay_${name} ${help}`,
      `tidemark_relay_${name}_total ${metrics[key]}`,
    ]),
    "# EOF\n",
  ].join("\n");
}
