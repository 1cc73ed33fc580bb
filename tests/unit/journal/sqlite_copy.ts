/**
 * A copy of a journal's tables, by SQL alone.
 *
 * @module
 */

/** Runs a statement and gives its rows. */
export type RunSql = (sql: string, ...values: (string | number)[]) => unknown[];

const TABLES = ["tidemark_journal", "tidemark_entries"] as const;

/**
 * Copies the tables.
 *
 * @param run Runs a statement.
 * @returns Puts the copy in the place of what is there; to be called in a transaction.
 */
export function copyTables(run: RunSql): () => void {
  const copies = TABLES.map((table) => ({
    table,
    // Rows are objects by the columns' names with every driver.
    rows: run(`SELECT * FROM ${table}`) as Record<string, string | number>[],
  }));
  return () => {
    for (const { table, rows } of copies) {
      run(`DELETE FROM ${table}`);
      for (const row of rows) {
        const columns = Object.keys(row);
        const marks = columns.map(() => "?").join();
        run(`INSERT INTO ${table} (${columns.join()}) VALUES (${marks})`, ...Object.values(row));
      }
    }
  };
}
