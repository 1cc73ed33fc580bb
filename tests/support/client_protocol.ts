/**
 * What a suite and a client in a process of its own say to each other: one JSON value on each line.
 *
 * @module
 */
import type { LifecycleRecord } from "../../src/client/records.ts";
import type { TimingConfig } from "../../src/client/timing.ts";
import type {
  LoadedCursor,
  Refusal,
  RevalidateContext,
  SavedCursor,
  StreamState,
  Subject,
  VisibilitySignal,
} from "../../src/client/types.ts";
import type { VersionSnapshot } from "../../src/client/versions.ts";
import type { Lag } from "../../src/wire/control.ts";

/** The options of a stream, as far as JSON can hold them. */
export interface StreamDescription {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly presentCursor?: "header" | "query";
  readonly timing?: Partial<TimingConfig>;
  readonly maxAttempts?: number;
  readonly alive?: { readonly url: string; readonly everyBeats?: number };
  /** What its store brings back; without it there is no store. */
  readonly saved?: LoadedCursor;
  /** Where its little application reads `/rest` and `/digest`; without it there is no version map. */
  readonly application?: string;
  /** What `onRefused` answers. */
  readonly onRefused?: "retry" | "stop";
}

/**
 * What a revalidation does. `pass` resolves at once, `fail` rejects, `hold` waits for `release` or its
 * signal, `work` lets the little application do what a real one does.
 */
export type Plan = "pass" | "fail" | "hold" | "work";

/** What a suite asks for. */
export type Order =
  | { readonly do: "create"; readonly description: StreamDescription }
  | {
    readonly do: "start" | "stop" | "reconnect" | "credentialsChanged" | "resetCursor" | "look";
  }
  /** A signal of the injected visibility source. */
  | { readonly do: "page"; readonly signal: VisibilitySignal }
  /** A signal of the injected network source. */
  | { readonly do: "network"; readonly on: boolean }
  /** What the next revalidations do, in order; those after them pass. */
  | { readonly do: "plan"; readonly plans: readonly Plan[] }
  /** Lets every revalidation that holds resolve. */
  | { readonly do: "release" }
  /** `onFrame` throws at each frame with this data. */
  | { readonly do: "throwAt"; readonly data: string }
  /** The little application fetches these subjects and shows them from now on. */
  | { readonly do: "show"; readonly subjects: readonly Subject[] };

/** An order on its way. */
export type Command = Order & { readonly number: number; readonly stream: string };

/** A frame, as `onFrame` got it. */
export interface ToldFrame {
  readonly type: string;
  /** The first 100 characters. */
  readonly data: string;
  readonly id: string | null;
  /** How many characters the data has. */
  readonly length: number;
}

/** What the little application shows: a payload for each subject, by `kind/ref`. */
export type Shown = Readonly<Record<string, string>>;

/** The answer to an order. */
export interface Done {
  readonly told: "done";
  readonly number: number;
  readonly state: StreamState;
  readonly cursor: string;
  readonly versions: VersionSnapshot | null;
  readonly shown: Shown;
  /** What went wrong with the order itself. */
  readonly error: string | null;
}

/** What happened to a stream. */
export type Happening =
  | { readonly told: "frame"; readonly frame: ToldFrame; readonly cursor: string }
  | { readonly told: "record"; readonly record: LifecycleRecord }
  | {
    readonly told: "revalidate";
    readonly context: Omit<RevalidateContext, "signal">;
  }
  /** Whether it resolved; `aborted` when its signal ended it. */
  | { readonly told: "revalidated"; readonly how: "resolved" | "rejected" | "aborted" }
  | { readonly told: "lag"; readonly lag: Lag }
  | { readonly told: "refused"; readonly refusal: Refusal }
  | { readonly told: "saved"; readonly saved: SavedCursor }
  | Done;

/** A happening, and when: in milliseconds of the client's own clock. */
export type Line = Happening & { readonly stream: string; readonly at: number };
