/**
 * What the journal needs of SQLite, whoever drives it: a file's driver, or a Durable Object.
 *
 * @module
 */

/** What SQLite keeps in a column that is ours. */
export type SqlValue = string | number | Uint8Array | null;

/** A row, by its columns' names. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** A database. Everything is synchronous; nobody else works on it in between. */
export interface SqlStore {
  /**
   * Runs a statement that gives rows.
   *
   * @param sql One statement; the same text is prepared once.
   * @param values The values of its parameters.
   * @returns All rows.
   */
  all(sql: string, ...values: readonly SqlValue[]): readonly SqlRow[];

  /**
   * Runs a statement that gives none.
   *
   * @param sql One statement; the same text is prepared once.
   * @param values The values of its parameters.
   */
  run(sql: string, ...values: readonly SqlValue[]): void;

  /**
   * Runs statements as one: all of what they write is kept, or nothing.
   *
   * @param body Runs them. What it throws undoes them.
   * @returns What the body returned, once it is committed.
   * @throws {CommitError} When all went well but the last step.
   */
  transaction<T>(body: () => T): T;

  /**
   * Waits until what was committed is on disk; without it, it is when {@linkcode transaction} returns.
   *
   * @returns Settles when it is.
   */
  settle?(): Promise<void>;

  /**
   * Looks whether the file is still where it was opened; called once in a while.
   *
   * @throws {JournalError} When another one stands there, or none.
   */
  inspect?(): void;

  /** Lets go of the database, so that somebody else may open it. Never throws. */
  release(): void;
}

/** A transaction failed while it was committed. It was rolled back; the cause says why. */
export class CommitError extends Error {
  /**
   * @param cause What the driver threw.
   */
  constructor(cause: unknown) {
    super("The transaction could not be committed", { cause });
  }
}
