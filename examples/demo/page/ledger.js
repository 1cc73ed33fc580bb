// @ts-check
/**
 * Counts what was published, received and missed: from the counter that every event carries, not
 * from what anybody says. A hub's hello and its `sse:lag` can be checked against it.
 */
import { offsetOf } from "./cursor.js";

/**
 * @typedef {{ run: string, base: number, last: number, published: number, received: number,
 *   missed: number, replayed: number, twice: number }} Row
 * @typedef {{ run: string, cursor: string, published: Record<string, number> }} Claim
 */

export class Ledger {
  /**
   * @param {readonly string[]} topics
   * @param {Record<string, Row>} [kept] The rows of an earlier life of the page.
   */
  constructor(topics, kept = {}) {
    /** @type {Map<string, Row>} */
    this.rows = new Map(topics.map((topic) => [topic, kept[topic] ?? newRow()]));
    /** @type {Claim | null} */
    this.claim = null;
  }

  /**
   * Enters one event.
   * @param {string} topic
   * @param {{ run: string, n: number }} event
   * @param {boolean} replayed
   * @returns {{ missed: number, twice: boolean }} How many were missed right before it.
   */
  receive(topic, event, replayed) {
    const row = this.row(topic);
    // The first event this page ever sees is its first: what came before is none of its business.
    if (row.run === "") {
      Object.assign(row, { run: event.run, base: event.n - 1, last: event.n - 1 });
    }
    turnPage(row, event.run);
    if (event.n <= row.last) {
      row.twice++;
      return { missed: 0, twice: true };
    }
    const missed = event.n - 1 - row.last;
    advance(row, event.n);
    row.missed += missed;
    row.received++;
    if (replayed) row.replayed++;
    return { missed, twice: false };
  }

  /**
   * Notes what the server says of its counters: at that cursor, so many had been published. It is
   * held against our own books once we have passed that cursor; before, the events may still come.
   * @param {Claim} claim
   */
  note(claim) {
    this.claim = claim;
  }

  /**
   * Settles the noted claim, if the cursor has reached it. This is how the loss of the *last* events
   * is seen, with none behind them to show the hole.
   * @param {string} cursor
   * @returns {{ topic: string, missed: number }[] | null} The losses; null when nothing was settled.
   */
  settle(cursor) {
    const claim = this.claim;
    if (claim === null || claim.cursor.slice(0, 16) !== cursor.slice(0, 16)) return null;
    if (offsetOf(cursor) < offsetOf(claim.cursor)) return null;
    this.claim = null;
    const losses = [];
    for (const [topic, row] of this.rows) {
      const n = claim.published[topic] ?? 0;
      if (row.run === "") Object.assign(row, { run: claim.run, base: n, last: n });
      turnPage(row, claim.run);
      const missed = n - row.last;
      if (missed <= 0) continue;
      advance(row, n);
      row.missed += missed;
      losses.push({ topic, missed });
    }
    return losses;
  }

  /** The sums over all topics. */
  totals() {
    const sum = { published: 0, received: 0, missed: 0, replayed: 0, twice: 0 };
    for (const row of this.rows.values()) {
      sum.published += row.published;
      sum.received += row.received;
      sum.missed += row.missed;
      sum.replayed += row.replayed;
      sum.twice += row.twice;
    }
    return sum;
  }

  /**
   * @param {string} topic
   * @returns {Row}
   */
  row(topic) {
    const row = this.rows.get(topic);
    if (row === undefined) throw new Error(`There is no topic ${topic}`);
    return row;
  }
}

/** @returns {Row} */
function newRow() {
  return { run: "", base: 0, last: 0, published: 0, received: 0, missed: 0, replayed: 0, twice: 0 };
}

/**
 * Another life of the server's process counts from one again. How many its last life still published
 * after we lost it, nobody can say: they are in neither column.
 * @param {Row} row
 * @param {string} run
 */
function turnPage(row, run) {
  if (row.run !== run) Object.assign(row, { run, base: 0, last: 0 });
}

/**
 * @param {Row} row
 * @param {number} n
 */
function advance(row, n) {
  row.published += n - row.last;
  row.last = n;
}
