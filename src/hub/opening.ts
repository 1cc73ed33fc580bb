/**
 * How a connection begins.
 *
 * @module
 */
import type { History } from "./history.ts";
import type { Judgement } from "./verdict.ts";

/**
 * How far the opening has come. `judging`: its cursor is being judged, and nothing more goes out.
 * `replay`: what was missed goes out. `hook`: the application's frames come next. `hooking`: it writes
 * them, and live frames wait. `flow`: live frames go out.
 */
export type Stage = "judging" | "replay" | "hook" | "hooking" | "flow";

/** What a connection is opened with, once its cursor is judged. */
export interface Opening {
  /** How its cursor was judged. */
  readonly judgement: Judgement;
  /** The hello. */
  readonly hello: Uint8Array;
  /** Writes the application's frames, once hello and replay were handed over; `null` for none. */
  readonly hook: (() => Promise<void>) | null;
  /** What goes out after them, before live frames. */
  readonly histories: readonly History[];
}

/**
 * The stage after the hello.
 *
 * @param opening What the connection is opened with.
 */
export function stageAfterHello({ judgement, hook }: Opening): Stage {
  if (judgement.missed > 0) return "replay";
  return hook === null ? "flow" : "hook";
}
