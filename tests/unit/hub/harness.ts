/**
 * What the hub's tests share: a hub with a clock that stands still, a logger that keeps its lines,
 * and connections whose runtime is played by a test.
 *
 * @module
 */
import { createHub } from "../../../src/hub/hub.ts";
import type { HubOptions, Logger } from "../../../src/hub/options.ts";
import type { PresenceEvent } from "../../../src/hub/presence.ts";
import type { Hub, ServeOptions } from "../../../src/hub/types.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { RecordingSink } from "../../../src/testing/recording_sink.ts";
import { type Hello, parseHello } from "../../../src/wire/hello.ts";
import { parseAll, type Report } from "../../model/reports.ts";

/** A ring of ordinary size. */
export const RING = { maxEvents: 1024, ttlMs: 600_000 } as const;

/** A logger that keeps its lines. */
export class Lines implements Logger {
  /** `level: message` */
  readonly lines: string[] = [];

  debug(message: string): void {
    this.lines.push(`debug: ${message}`);
  }

  info(message: string): void {
    this.lines.push(`info: ${message}`);
  }

  warn(message: string): void {
    this.lines.push(`warn: ${message}`);
  }

  error(message: string): void {
    this.lines.push(`error: ${message}`);
  }
}

/** A hub under a test's control. */
export interface Bench {
  readonly hub: Hub;
  readonly clock: FakeClock;
  readonly logger: Lines;
  /** What the presence hook was told, unless the test brought its own. */
  readonly presence: PresenceEvent[];
}

/**
 * Makes a hub.
 *
 * @param options Its options, besides clock and logger.
 * @returns The hub and what surrounds it. A second has passed on its clock.
 */
export function bench(options: HubOptions = {}): Bench {
  const clock = new FakeClock();
  const logger = new Lines();
  const presence: PresenceEvent[] = [];
  const onPresence = (event: PresenceEvent): void => void presence.push(event);
  const hub = createHub({ onPresence, ...options, clock, logger });
  clock.advance(1000);
  return { hub, clock, logger, presence };
}

/** What a client sends. */
export interface Ask {
  readonly cursor?: string;
  readonly lag?: boolean;
  readonly method?: string;
  readonly query?: string;
  readonly signal?: AbortSignal;
}

/** The request of a client. */
export function ask({ cursor, lag, method, query, signal }: Ask = {}): Request {
  const headers = new Headers();
  if (cursor !== undefined) headers.set("Last-Event-ID", cursor);
  if (lag === true) headers.set("SSE-Lag", "1");
  const init = { headers, ...(method !== undefined && { method }), ...(signal && { signal }) };
  return new Request(`http://localhost/events${query ?? ""}`, init);
}

/** One connection: its runtime, and what it has been sent. */
export class Client {
  readonly sink: RecordingSink;

  /**
   * @param hub The hub.
   * @param options What `serve` is given.
   * @param asked What the client sends.
   * @param ready Whether its runtime takes chunks at first.
   */
  constructor(hub: Hub, options: ServeOptions = {}, asked: Ask = {}, ready = true) {
    this.sink = RecordingSink.for(hub.serve(ask(asked), options), ready);
  }

  /** Everything it was sent, in order. */
  get reports(): Report[] {
    return parseAll(this.sink.chunks);
  }

  /** The events it was sent, without the library's own. */
  get events(): Extract<Report, { kind: "event" }>[] {
    return this.reports.flatMap((report) =>
      report.kind === "event" && !report.name.startsWith("sse:") ? [report] : []
    );
  }

  /** The data of those. */
  get data(): string[] {
    return this.events.map(({ data }) => data);
  }

  /** The hello. */
  get hello(): Hello {
    const found = this.named("sse:hello")[0];
    if (found === undefined) throw new Error("There was no hello");
    return parseHello(found);
  }

  /** The data of the events of one name. */
  named(name: string): string[] {
    return this.reports.flatMap((report) =>
      report.kind === "event" && report.name === name ? [report.data] : []
    );
  }

  /** A short account of everything: names of events, `#n` for an id alone, `retry`, comments. */
  get story(): string[] {
    return this.reports.map((report) => {
      switch (report.kind) {
        case "event":
          return report.name === "" || !report.name.startsWith("sse:") ? report.data : report.name;
        case "id":
          return `#${report.id.split(":")[1]}`;
        case "comment":
          return `: ${report.text}`;
        case "retry":
          return `retry ${report.ms}`;
      }
    });
  }
}

/** Lets every promise that can settle without time passing settle. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

/**
 * Publishes numbers, slowly enough that it is no burst.
 *
 * @param made The hub and its clock.
 * @param from The first number.
 * @param to The last.
 */
export async function publishSlowly(
  { hub, clock }: Bench,
  from: number,
  to: number,
): Promise<void> {
  for (let i = from; i <= to; i++) {
    hub.publish({ data: String(i) });
    clock.advance(100);
    await settle();
  }
}

/** A hook's gate: it opens when the test says so. */
export function gate(): {
  readonly opened: Promise<void>;
  open(): void;
  break(error: Error): void;
} {
  let open = (): void => {};
  let fail = (_: Error): void => {};
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { opened, open: () => open(), break: (error) => fail(error) };
}
