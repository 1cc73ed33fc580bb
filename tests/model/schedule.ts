/**
 * A schedule: what is done to a hub and its clients, step by step, and what came of it.
 *
 * @module
 */

/** The options that a schedule varies. */
export interface WorldOptions {
  readonly slow: "reset" | "lag";
  readonly maxEvents: number;
  readonly replyMaxEvents: number;
  readonly clientBuffer: number;
}

/** One step of a schedule. Clients are named by a number, taken modulo how many there are. */
export type Step =
  | {
    readonly do: "publish";
    readonly topic: string;
    readonly size: number;
    readonly ephemeral: boolean;
  }
  | {
    readonly do: "connect";
    readonly topics: readonly string[] | null;
    readonly lag: boolean;
    /** What it presents: nothing, nonsense, an offset, or what a client of before holds. */
    readonly cursor: "none" | "nonsense" | { readonly offset: number } | {
      readonly of: number;
    };
    readonly ready: boolean;
    readonly hook: "none" | "quick" | "gated";
  }
  | {
    readonly do: "accept" | "acceptOne" | "refuse" | "leave" | "fail" | "open" | "disconnect";
    readonly client: number;
  }
  /** Events of other pods were lost. */
  | { readonly do: "gap"; readonly spreadMs: number }
  /** The hub begins to leave; a second time it joins the first. */
  | { readonly do: "drain"; readonly lameDuckMs: number; readonly spreadMs: number }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "turn" };

/** What happened in a schedule: a property that never met a hole says nothing about holes. */
export interface Tally {
  clients: number;
  events: number;
  resumed: number;
  lags: number;
  /** Places where events of other pods were lost, as they were told to those who understand it. */
  gaps: number;
  /** Events that were given without the id they have, to those who cannot be told. */
  withheld: number;
  evicted: number;
  dead: number;
  hooked: number;
}
