// @ts-check
/**
 * Steps side by side. Most steps wait for servers, browsers and deadlines most of their time: one
 * after another they leave the machine idle.
 *
 * @module
 */

/**
 * @template Job
 * @template Result
 * @typedef {object} Work
 * @property {readonly Job[]} jobs What is to be done, in the order in which it is reported.
 * @property {number} atOnce So many at once, at least 1.
 * @property {(job: Job) => number} rank Which begin first: those of the lowest rank; equal ones in
 * their order.
 * @property {(job: Job) => Promise<Result>} run Does one. A rejection stops the whole.
 * @property {(job: Job, result: Result) => void} report Told of each, in the order of `jobs`, as soon
 * as it and all before it have ended.
 */

/**
 * Does all of them, some at once.
 *
 * @template Job
 * @template Result
 * @param {Work<Job, Result>} work What to do.
 * @returns {Promise<void>} Settles when all have ended and been reported.
 * @throws {unknown} The first rejection: after it nothing more begins, what runs is awaited, and what
 * has ended is reported.
 */
export async function sideBySide({ jobs, atOnce, rank, run, report }) {
  const waiting = jobs.map((_, index) => index).sort((a, b) => rankAt(a) - rankAt(b) || a - b);
  /** @type {Map<number, Result>} */
  const ended = new Map();
  /** @type {unknown[]} */
  const faults = [];
  let reported = 0;

  /** @param {number} index */
  function rankAt(index) {
    return rank(/** @type {Job} */ (jobs[index]));
  }

  /** @param {boolean} all Whether also what stands behind one that has not ended. */
  function tell(all) {
    for (let index = reported; index < jobs.length; index++) {
      const result = ended.get(index);
      if (result === undefined && !all) return;
      if (result !== undefined) report(/** @type {Job} */ (jobs[index]), result);
      reported = index + 1;
    }
  }

  const lane = async () => {
    while (faults.length === 0) {
      const index = waiting.shift();
      if (index === undefined) return;
      try {
        ended.set(index, await run(/** @type {Job} */ (jobs[index])));
        tell(false);
      } catch (error) {
        faults.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, atOnce) }, lane));
  if (faults.length === 0) return;
  tell(true);
  throw faults[0];
}
