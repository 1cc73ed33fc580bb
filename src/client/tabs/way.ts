/**
 * The ways in which a tab can get its profile's stream.
 *
 * @module
 */
import type { Host } from "../worker/host.ts";
import type { Link } from "./link.ts";
import type { TabMode } from "./types.ts";

/** Makes a host in this page. */
export type MakeHost = () => Host;

/** One way. */
export interface Way {
  /** Who carries the stream now. */
  readonly mode: TabMode;
  /** The line in use; `null` while there is none. */
  readonly link: Link | null;
  /** Begins, or begins again after {@linkcode leave}. */
  enter(): void;
  /**
   * Ends everything for now: the page may be kept asleep, and nothing may reach it there.
   *
   * @param reason What the host is told.
   */
  leave(reason: string): void;
  /** Somebody sees the page again. */
  seen(): void;
}
