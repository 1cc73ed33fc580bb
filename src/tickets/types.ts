/**
 * The contract of tickets: what they stand for, and who keeps them.
 *
 * @module
 */

/** What a ticket stands for. The stream takes none of it from its URL. */
export interface Claims {
  /** The user; 1 to 256 characters. */
  readonly user: string;
  /** The account that the stream serves; none by default. */
  readonly account?: string;
  /** The session in which it was minted; none by default. */
  readonly session?: string;
  /** The topics of the stream: 1 to 256, never everything. */
  readonly topics: readonly string[];
  /** When the stream's authority ends, in milliseconds since the Unix epoch; by default never. */
  readonly expiresAt?: number;
}

/**
 * Where tickets are kept: shared by all pods that mint or redeem them. It sees a hash of each ticket,
 * never the ticket.
 */
export interface TicketStore {
  /**
   * Keeps a value, for a while.
   *
   * @param key Its key: 43 characters of base64url.
   * @param value The value.
   * @param ttlMs For how long, in milliseconds.
   * @throws When it cannot be kept.
   */
  put(key: string, value: string, ttlMs: number): Promise<void>;
  /**
   * Takes a value out: of any number of calls at once, on any pods, one gets it.
   *
   * @param key Its key.
   * @returns The value; `null` when there is none, none any more, or when its time is over.
   * @throws When it cannot be asked.
   */
  take(key: string): Promise<string | null>;
}

/** A ticket that was redeemed. */
export interface RedeemedTicket {
  /** What it stands for. */
  readonly claims: Claims;
  /**
   * Puts it back, for the time that it had left: when no stream came of it. Does nothing after that
   * time, and never throws.
   */
  giveBack(): Promise<void>;
}

/** Single-use tickets, for clients that cannot send headers. */
export interface Tickets {
  /**
   * Mints a ticket. Who may have it is for the caller to know.
   *
   * @param claims What it stands for.
   * @returns 32 random bytes as 43 characters of base64url.
   * @throws {TicketError} `claims` when they are outside their bounds, `unavailable` when the store
   * cannot keep it.
   */
  mint(claims: Claims): Promise<string>;
  /**
   * Redeems a ticket, once.
   *
   * @param ticket What was presented, whatever it is.
   * @returns What it stands for; `null` when it was used, has expired, or never was: which of them
   * cannot be told, by the time that the answer took neither.
   * @throws {TicketError} `unavailable` when the store cannot be asked.
   */
  redeem(ticket: string): Promise<RedeemedTicket | null>;
}
