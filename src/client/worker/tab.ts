/**
 * What a host knows of an attached tab.
 *
 * @module
 */
import type { ToTab } from "./protocol.ts";
import type { Pulse } from "./pulse.ts";

/** An attached tab. */
export interface Tab {
  /** The tab's own id. */
  readonly id: string;
  /** Sends to it. */
  readonly send: (message: ToTab) => void;
  /** Whether it lives. */
  readonly pulse: Pulse;
  /** Whether somebody sees it. */
  visible: boolean;
  /** The number of the last frame that it has delivered. */
  acked: number;
  /** Since when it has had as many frames unacknowledged as may be; `null` while it has fewer. */
  fullSince: number | null;
}
