/**
 * What a hub counts.
 *
 * @module
 */
import { type Verdict, VERDICTS } from "../wire/hello.ts";
import { DEPARTURE_CAUSES, type DepartureCause } from "./presence.ts";

/** Upper bounds of the delay histogram's buckets, in seconds; the last one is infinity. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counters, gauges and a histogram of one hub, at one instant. */
export interface HubMetrics {
  /** How many clients are connected. */
  readonly clients: number;
  /** How many frames wait, summed over the clients. */
  readonly queuedFrames: number;
  /** How many events the ring holds. */
  readonly ringEvents: number;
  /** How many bytes of frames the ring holds. */
  readonly ringBytes: number;
  /** The newest offset. */
  readonly head: number;
  /** Events accepted by `publish`, ephemeral ones included. */
  readonly published: number;
  /** Frames handed to runtimes, summed over the clients; one whose write then failed counts too. */
  readonly delivered: number;
  /** Connections by the verdict of their hello. */
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** Departures by cause. */
  readonly departures: Readonly<Record<DepartureCause, number>>;
  /** Events that a journal did not store, or of which it did not say so. */
  readonly appendFailures: number;
  /** Streams ended because the journal behind the ring could not be read. */
  readonly turnedAway: number;
  /** Requests answered 503: over the cap, or after shutdown. */
  readonly refused: number;
  /** How often events of other pods were lost on their way here. */
  readonly gaps: number;
  /** `sse:lag` notices written to clients that fell behind: those of `gaps` do not count. */
  readonly lagNotices: number;
  /** Frames that those notices said were missed. */
  readonly lagMissed: number;
  /** Streams ended while the peer took nothing, whose socket the runtime may still hold. */
  readonly abandoned: number;
  /** How long frames waited from `publish` until a runtime took them, in seconds. */
  readonly writeDelay: {
    /** Each bucket's upper bound in seconds (the last is infinity) and cumulative count. */
    readonly buckets: readonly { readonly le: number; readonly count: number }[];
    /** How many chunks were measured: by their oldest frame. */
    readonly count: number;
    /** The sum of the delays in seconds. */
    readonly sum: number;
  };
}

/** The gauges that a hub reads when it is asked. */
export type Gauges = Pick<
  HubMetrics,
  "clients" | "queuedFrames" | "ringEvents" | "ringBytes" | "head"
>;

/** The counters of one hub. */
export class Metrics {
  #published = 0;
  #delivered = 0;
  #refused = 0;
  #gaps = 0;
  #lagNotices = 0;
  #lagMissed = 0;
  #abandoned = 0;
  #turnedAway = 0;
  #appendFailures = 0;
  readonly #verdicts = zeros(VERDICTS);
  readonly #departures = zeros(DEPARTURE_CAUSES);
  readonly #counts: number[] = new Array<number>(BUCKETS.length + 1).fill(0);
  #delaySum = 0;

  /** An event was accepted. */
  published(): void {
    this.#published++;
  }

  /**
   * Frames were handed to a runtime.
   *
   * @param frames How many.
   * @param delayMs How long the oldest waited, in milliseconds; `null` for a replay.
   */
  wrote(frames: number, delayMs: number | null): void {
    this.#delivered += frames;
    if (delayMs === null) return;
    const seconds = delayMs / 1000;
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] ?? Infinity)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#delaySum += seconds;
  }

  /** @param verdict How a connection's cursor was judged. */
  judged(verdict: Verdict): void {
    this.#verdicts[verdict]++;
  }

  /** @param cause Why a connection ended. */
  departed(cause: DepartureCause): void {
    this.#departures[cause]++;
  }

  /** A journal did not store an event. */
  appendFailed(): void {
    this.#appendFailures++;
  }

  /** A stream could not go on without the journal. */
  turnedAway(): void {
    this.#turnedAway++;
  }

  /** Events of other pods were lost. */
  gapped(): void {
    this.#gaps++;
  }

  /** A request was answered 503. */
  refused(): void {
    this.#refused++;
  }

  /** @param missed How many frames a lag notice named. */
  lagged(missed: number): void {
    this.#lagNotices++;
    this.#lagMissed += missed;
  }

  /** A stream was ended whose peer took nothing. */
  abandoned(): void {
    this.#abandoned++;
  }

  /**
   * Everything, at this instant.
   *
   * @param gauges What the hub has read just now.
   * @returns A copy.
   */
  read(gauges: Gauges): HubMetrics {
    let count = 0;
    const buckets = this.#counts.map((inBucket, i) => {
      count += inBucket;
      return { le: BUCKETS[i] ?? Infinity, count };
    });
    return {
      ...gauges,
      published: this.#published,
      delivered: this.#delivered,
      appendFailures: this.#appendFailures,
      turnedAway: this.#turnedAway,
      refused: this.#refused,
      gaps: this.#gaps,
      lagNotices: this.#lagNotices,
      lagMissed: this.#lagMissed,
      abandoned: this.#abandoned,
      verdicts: { ...this.#verdicts },
      departures: { ...this.#departures },
      writeDelay: { buckets, count, sum: this.#delaySum },
    };
  }
}

/**
 * Writes metrics as OpenMetrics text, for a scraper.
 *
 * Answer it with the type `application/openmetrics-text; version=1.0.0; charset=utf-8`.
 *
 * @param metrics What {@linkcode Hub.metrics} returned.
 * @returns The text, ended by `# EOF`.
 *
 * @example
 * ```ts
 * import { assertStringIncludes } from "@std/assert";
 * import { createHub, openMetrics } from "@tidemark/sse";
 *
 * const hub = createHub();
 * hub.publish({ data: "hi" });
 * assertStringIncludes(openMetrics(hub.metrics()), "tidemark_published_total 1\n");
 * ```
 */
export function openMetrics(metrics: HubMetrics): string {
  const { writeDelay } = metrics;
  const le = (bound: number): string => {
    if (bound === Infinity) return "+Inf";
    return Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
  };
  return [
    ...gauge("clients", "Clients connected.", metrics.clients),
    ...gauge("queued_frames", "Frames waiting, summed over the clients.", metrics.queuedFrames),
    ...gauge("ring_events", "Events held in the ring.", metrics.ringEvents),
    ...gauge("ring_bytes", "Bytes of frames held in the ring.", metrics.ringBytes),
    ...gauge("head", "The newest offset.", metrics.head),
    ...counter("published", "Events accepted.", { "": metrics.published }),
    ...counter("delivered", "Frames handed to runtimes.", { "": metrics.delivered }),
    ...counter("refused", "Requests answered 503.", { "": metrics.refused }),
    ...counter("gaps", "Losses of other pods' events.", { "": metrics.gaps }),
    ...counter("append_failures", "Events that the journal did not store.", {
      "": metrics.appendFailures,
    }),
    ...counter("turned_away", "Streams ended for want of the journal.", {
      "": metrics.turnedAway,
    }),
    ...counter("lag_notices", "Lag notices written.", { "": metrics.lagNotices }),
    ...counter("lag_missed", "Frames named as missed.", { "": metrics.lagMissed }),
    ...counter("abandoned", "Streams ended whose peer took nothing.", { "": metrics.abandoned }),
    ...counter("connections", "Connections by verdict.", metrics.verdicts, "verdict"),
    ...counter("departures", "Departures by cause.", metrics.departures, "cause"),
    ...family("write_delay_seconds", "histogram", "From publish to write."),
    ...writeDelay.buckets.map((bucket) =>
      `tidemark_write_delay_seconds_bucket{le="${le(bucket.le)}"} ${bucket.count}`
    ),
    `tidemark_write_delay_seconds_count ${writeDelay.count}`,
    `tidemark_write_delay_seconds_sum ${writeDelay.sum}`,
    "# EOF\n",
  ].join("\n");
}

function family(name: string, type: string, help: string): string[] {
  return [`# TYPE tidemark_${name} ${type}`, `# HELP tidemark_${name} ${help}`];
}

function gauge(name: string, help: string, value: number): string[] {
  return [...family(name, "gauge", help), `tidemark_${name} ${value}`];
}

function counter(
  name: string,
  help: string,
  values: Readonly<Record<string, number>>,
  label = "",
): string[] {
  const lines = Object.entries(values).map(([value, count]) =>
    `tidemark_${name}_total${label === "" ? "" : `{${label}="${value}"}`} ${count}`
  );
  return [...family(name, "counter", help), ...lines];
}

function zeros<T extends string>(keys: readonly T[]): Record<T, number> {
  return Object.fromEntries(keys.map((key) => [key, 0])) as Record<T, number>;
}
