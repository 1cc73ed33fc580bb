/**
 * What an object knows of its hop's connections when its memory is gone: whose they are, and what they
 * listen to. A socket's attachment has no room for 256 topics.
 *
 * @module
 */
import type { DurableObjectStorage } from "../../../journal/sqlite/durable_object.ts";

/** For how long the rows of a socket that vanished are kept: longer than a Worker tries to come back. */
export const GRACE_MS = 60_000;

const TABLES = [
  `CREATE TABLE IF NOT EXISTS tidemark_hops (
    connection TEXT PRIMARY KEY, owner TEXT NOT NULL, tag TEXT NOT NULL, everything INTEGER NOT NULL,
    lag INTEGER NOT NULL, since INTEGER NOT NULL, pasts INTEGER NOT NULL, at REAL NOT NULL, expires REAL,
    lost REAL
  ) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS tidemark_hop_topics (
    connection TEXT NOT NULL, topic TEXT NOT NULL, since INTEGER NOT NULL,
    PRIMARY KEY (connection, topic)
  ) WITHOUT ROWID`,
  // Each client that comes looks for those whose time is over: not through everybody's rows.
  `CREATE INDEX IF NOT EXISTS tidemark_hops_lost ON tidemark_hops (lost) WHERE lost IS NOT NULL`,
];

/** A connection, as it is kept. */
export interface HopRow {
  /** Its id. */
  readonly connection: string;
  /** Whose it is; `""` for nobody. */
  readonly user: string;
  /** The application's tag; `""` for none. */
  readonly tag: string;
  /** What it listens to, each with the offset after which it does; `null` for everything. */
  readonly topics: Map<string, number> | null;
  /** Whether its client understands `sse:lag`. */
  readonly lag: boolean;
  /** The offset after which it receives. */
  readonly since: number;
  /** How many pasts of topics it was promised while it was open. */
  pasts: number;
  /** When it began, in milliseconds since the Unix epoch. */
  readonly at: number;
  /** When its authority ends, in milliseconds since the Unix epoch; `Infinity` for never. */
  expiresAt: number;
}

/** The tables of one object. */
export class HopTable {
  readonly #sql: DurableObjectStorage["sql"];

  /** @param storage The object's storage. */
  constructor({ sql }: Pick<DurableObjectStorage, "sql">) {
    this.#sql = sql;
    this.#create();
  }

  /** All connections, those whose sockets vanished among them. */
  all(): HopRow[] {
    return this.#rows("");
  }

  /** @param connection The id of one connection. */
  get(connection: string): HopRow | undefined {
    return this.#rows(" WHERE connection = ?", connection)[0];
  }

  #rows(where: string, ...values: string[]): HopRow[] {
    const topics = new Map<string, Map<string, number>>();
    const ofTopics = this.#run(`SELECT * FROM tidemark_hop_topics${where}`, ...values);
    for (const { connection, topic, since } of ofTopics) {
      const own = topics.get(text(connection)) ?? new Map<string, number>();
      own.set(text(topic), Number(since));
      topics.set(text(connection), own);
    }
    return this.#run(`SELECT * FROM tidemark_hops${where}`, ...values).map((row) => ({
      connection: text(row["connection"]),
      // Nobody else writes it. As JSON, for a column may not hold every string.
      user: JSON.parse(text(row["owner"])) as string,
      tag: text(row["tag"]),
      topics: row["everything"] === 1 ? null : topics.get(text(row["connection"])) ?? new Map(),
      lag: row["lag"] === 1,
      since: Number(row["since"]),
      pasts: Number(row["pasts"]),
      at: Number(row["at"]),
      expiresAt: row["expires"] === null ? Infinity : Number(row["expires"]),
    }));
  }

  /** @param row A connection that begins. */
  add({ connection, user, tag, topics, lag, since, pasts, at, expiresAt }: HopRow): void {
    const expires = Number.isFinite(expiresAt) ? expiresAt : null;
    this.#run(
      `INSERT INTO tidemark_hops (connection, owner, tag, everything, lag, since, pasts, at, expires)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[connection, JSON.stringify(user), tag, topics === null ? 1 : 0],
      ...[lag ? 1 : 0, since, pasts, at, expires],
    );
    for (const [topic, offset] of topics ?? []) this.join(connection, topic, offset);
  }

  /** Notes a topic of a connection, and since when it is received. */
  join(connection: string, topic: string, since: number): void {
    const sql = "INSERT OR REPLACE INTO tidemark_hop_topics VALUES (?, ?, ?)";
    this.#run(sql, connection, topic, since);
  }

  /** Forgets a topic of a connection. */
  leave(connection: string, topic: string): void {
    const sql = "DELETE FROM tidemark_hop_topics WHERE connection = ? AND topic = ?";
    this.#run(sql, connection, topic);
  }

  /** Notes how many pasts a connection was promised. */
  promise(connection: string, pasts: number): void {
    this.#run("UPDATE tidemark_hops SET pasts = ? WHERE connection = ?", pasts, connection);
  }

  /** Notes when a connection's authority ends; `Infinity` for never. */
  expire(connection: string, at: number): void {
    const expires = Number.isFinite(at) ? at : null;
    this.#run("UPDATE tidemark_hops SET expires = ? WHERE connection = ?", expires, connection);
  }

  /** Forgets a connection. */
  remove(connection: string): void {
    this.#run("DELETE FROM tidemark_hops WHERE connection = ?", connection);
    this.#run("DELETE FROM tidemark_hop_topics WHERE connection = ?", connection);
  }

  /**
   * Notes that a connection's socket has vanished: its Worker may come back.
   *
   * @param connection Its id.
   * @param now When it was noticed first, in milliseconds since the Unix epoch.
   */
  lose(connection: string, now: number): void {
    const sql = "UPDATE tidemark_hops SET lost = ? WHERE connection = ? AND lost IS NULL";
    this.#run(sql, now, connection);
  }

  /** A connection's Worker has come back. */
  find(connection: string): void {
    this.#run("UPDATE tidemark_hops SET lost = NULL WHERE connection = ?", connection);
  }

  /**
   * Forgets those whose Worker does not come back any more.
   *
   * @param now The time, in milliseconds since the Unix epoch.
   * @returns Them.
   */
  sweep(now: number): HopRow[] {
    const sql = "SELECT connection FROM tidemark_hops WHERE lost < ?";
    const gone: HopRow[] = [];
    for (const { connection } of this.#run(sql, now - GRACE_MS)) {
      const row = this.get(text(connection));
      if (row !== undefined) gone.push(row);
      this.remove(text(connection));
    }
    return gone;
  }

  #create(): void {
    for (const sql of TABLES) this.#sql.exec(sql).toArray();
  }

  #run(sql: string, ...values: (string | number | null)[]): Record<string, unknown>[] {
    // Rows are objects, of the columns that stand above.
    const run = (): unknown => this.#sql.exec(sql, ...values).toArray();
    try {
      return run() as Record<string, unknown>[];
    } catch (error) {
      // The application has emptied its storage: then nothing of it is known any more.
      if (!/no such table/.test(String(error))) throw error;
      this.#create();
      return run() as Record<string, unknown>[];
    }
  }
}

function text(value: unknown): string {
  return String(value);
}
