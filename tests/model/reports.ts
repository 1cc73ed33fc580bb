/**
 * What a parser reported, in order, and the same seen as an `EventSource` would see it.
 *
 * @module
 */
import { Parser, type ParserOptions } from "../../src/wire/parser.ts";
import type { NaiveReading } from "./naive_parser.ts";

/** One call of a parser's handlers. */
export type Report =
  | {
    readonly kind: "event";
    readonly name: string;
    readonly data: string;
    readonly id: string | null;
  }
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "comment"; readonly text: string }
  | { readonly kind: "retry"; readonly ms: number };

/**
 * Feeds chunks to a new parser.
 *
 * @param chunks The chunks, in order.
 * @param options The parser's options.
 * @param reports Where the reports go; what was reported before a refusal stays there.
 * @returns The reports.
 */
export function parseAll(
  chunks: Iterable<Uint8Array>,
  options?: ParserOptions,
  reports: Report[] = [],
): Report[] {
  const parser = new Parser({
    onEvent: ({ name, data, id }) => reports.push({ kind: "event", name, data, id }),
    onId: (id) => reports.push({ kind: "id", id }),
    onComment: (text) => reports.push({ kind: "comment", text }),
    onRetry: (ms) => reports.push({ kind: "retry", ms }),
  }, options);
  for (const chunk of chunks) parser.feed(chunk);
  return reports;
}

/** The events among reports, as `[name, data, id]`. */
export function eventsOf(reports: readonly Report[]): [string, string, string | null][] {
  return reports.flatMap((report) =>
    report.kind === "event" ? [[report.name, report.data, report.id]] : []
  );
}

/**
 * What an `EventSource` over the parser would show: the id is sticky, an unnamed event is `message`.
 *
 * @param reports What the parser reported.
 * @returns The same shape as the naive reading of the stream.
 */
export function asEventSource(reports: readonly Report[]): NaiveReading {
  const events: { type: string; data: string; lastEventId: string }[] = [];
  const retries: number[] = [];
  const comments: string[] = [];
  let lastEventId = "";
  for (const report of reports) {
    if (report.kind === "comment") comments.push(report.text);
    if (report.kind === "retry") retries.push(report.ms);
    if (report.kind === "id") lastEventId = report.id;
    if (report.kind === "event") {
      lastEventId = report.id ?? lastEventId;
      events.push({ type: report.name || "message", data: report.data, lastEventId });
    }
  }
  return { events, lastEventId, retries, comments };
}
