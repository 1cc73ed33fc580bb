/**
 * What a connection is to its hub, and the hub to a connection.
 *
 * @module
 */
import type { Connection } from "./connection.ts";
import type { FeedSource } from "./feed.ts";
import type { Joiner } from "./joiner.ts";
import type { Closed } from "./outlet.ts";
import type { DepartureCause, FailedWrite } from "./presence.ts";

/** Why and how a connection ended. */
export interface Departure extends Closed {
  /** Why. */
  readonly cause: DepartureCause;
  /** Which write failed, where one did. */
  readonly write: FailedWrite | undefined;
  /** Whether the hello had been handed to the runtime. */
  readonly greeted: boolean;
}

/** What a connection needs of its hub. */
export interface ConnectionHome extends FeedSource {
  readonly joiner: Joiner;
  readonly keepalive: Uint8Array;
  /** Asks for {@linkcode Connection.flush} at the end of this turn. */
  wake(connection: Connection): void;
  /** The hello was handed to the runtime. */
  arrived(connection: Connection): void;
  /** The connection receives no more frames. It may be said twice. */
  left(connection: Connection): void;
  /** The connection has ended. Said once. */
  departed(connection: Connection, departure: Departure): void;
}

/** Who a connection is. */
export interface Identity {
  /** The unguessable id. */
  readonly id: string;
  /** The application's tag; `""` for none. */
  readonly tag: string;
  /** What it listens to, and since when; `null` for everything. */
  readonly topics: Map<string, number> | null;
  /** Whether the client understands `sse:lag`. */
  readonly declaresLag: boolean;
  /** The user whose it is; `""` for nobody. */
  readonly user: string;
}
