// @ts-check
/** The buttons: each starts an experiment, and says what came of it from the page's own books. */
import { post } from "./post.js";
import { readSlowly } from "./slow_reader.js";
import { byId, count, log, outcome, shortCursor } from "./view.js";

const CUT_MS = 2000;
const OFFLINE_MS = 10_000;
const STALL_MS = 8000;
const BURST = { count: 500, size: 0 };
const FLOOD = { count: 4000, size: 10_240 };
/** An experiment that has had no answer for so long is given up. */
const PATIENCE_MS = 60_000;

/**
 * @typedef {{ published: number, received: number, missed: number, replayed: number }} Sums
 * @typedef {{ sums: Sums, burst: Sums, hellos: number }} Books
 * @typedef {{ button: HTMLElement, startedAt: number, ms: number, before: Books,
 *   answer: () => string | null }} Experiment
 * @typedef {{ hellos: number, verdict: string, epoch: string, hub: number }} Settled
 */

export class Experiments {
  /**
   * @param {import("./stream.js").Stream} stream
   * @param {() => Books} books What has been counted so far.
   * @param {() => Settled} settled The connection up to which the books are settled.
   * @param {() => number} lastBurst The counter of the last burst event that is accounted for.
   */
  constructor(stream, books, settled, lastBurst) {
    this.stream = stream;
    this.books = books;
    this.settled = settled;
    this.lastBurst = lastBurst;
    /** @type {Set<Experiment>} */
    this.running = new Set();
    this.bind("cut", () => this.cut());
    this.bind("offline", () => {
      if (this.leave("offline", OFFLINE_MS) !== null) this.stream.network.goOffline(OFFLINE_MS);
    });
    this.bind("burst", () => this.burst());
    this.bind("stall", () => this.stall());
    this.bind("restart", () => this.restart());
  }

  /** Writes progress and outcomes; called several times a second. */
  tick() {
    const now = performance.now();
    for (const experiment of this.running) {
      const { button, startedAt, ms } = experiment;
      const done = Math.min(1, (now - startedAt) / ms);
      button.style.setProperty("--done", done.toFixed(3));
      let text = experiment.answer();
      if (text === null && now - startedAt > PATIENCE_MS) text = "No answer within a minute.";
      if (text !== null) this.finish(experiment, text);
    }
  }

  /**
   * @param {string} id
   * @param {() => void} press
   */
  bind(id, press) {
    const button = byId(id);
    button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") !== "true") press();
    });
  }

  /**
   * @param {string} id
   * @param {number} ms How long its effect lasts.
   * @param {(before: Books) => string | null} answer What came of it; null as long as it runs.
   * @returns {Experiment}
   */
  begin(id, ms, answer) {
    const before = this.books();
    const button = byId(id);
    button.setAttribute("aria-disabled", "true");
    const experiment = {
      button,
      startedAt: performance.now(),
      ms,
      before,
      answer: () => answer(before),
    };
    this.running.add(experiment);
    return experiment;
  }

  /**
   * @param {Experiment} experiment
   * @param {string} text
   */
  finish(experiment, text) {
    this.running.delete(experiment);
    experiment.button.removeAttribute("aria-disabled");
    experiment.button.style.removeProperty("--done");
    outcome(text);
  }

  /**
   * The stream ends, and comes back by itself.
   * @param {string} id
   * @param {number} ms
   * @returns {Experiment | null}
   */
  leave(id, ms) {
    if (this.stream.state !== "open") {
      outcome("There is no open stream to cut.");
      return null;
    }
    const startedAt = performance.now();
    return this.begin(id, ms, (before) => {
      const { hellos, verdict } = this.settled();
      if (hellos <= before.hellos) return null;
      const away = ((performance.now() - startedAt) / 1000).toFixed(1);
      const { replayed, missed } = difference(this.books().sums, before.sums);
      return `Away for ${away} s: ${verdict}. ${count(replayed)} replayed, ${
        count(missed)
      } missed.`;
    });
  }

  async cut() {
    const experiment = this.leave("cut", CUT_MS);
    if (experiment === null) return;
    const reply = await post("/cut", { tag: this.stream.options.tag });
    if (!reply.ok) this.finish(experiment, `Nothing was cut: ${reply.error}.`);
  }

  async burst() {
    let last = Infinity;
    const experiment = this.begin("burst", 1000, (before) => {
      if (this.lastBurst() < last) return null;
      const { published, received, missed } = difference(this.books().burst, before.burst);
      return `Burst: ${count(published)} published, ${count(received)} received, ` +
        `${count(missed)} missed.`;
    });
    const reply = await post("/burst", BURST);
    if (reply.ok) last = reply.body.n;
    else this.finish(experiment, `No burst: ${reply.error}.`);
  }

  async stall() {
    const patience = new AbortController();
    let last = Infinity;
    let text = /** @type {string | null} */ (null);
    const experiment = this.begin("stall", STALL_MS, () => text);
    const flood = async () => {
      log(
        `A slow reader takes nothing for ${STALL_MS / 1000} s, under ${count(FLOOD.count)} events.`,
      );
      const reply = await post("/burst", FLOOD);
      if (reply.ok) last = reply.body.n;
      else {
        patience.abort();
        this.finish(experiment, `No flood: ${reply.error}.`);
      }
    };
    setTimeout(() => patience.abort(), PATIENCE_MS);
    try {
      const { received, missed, told } = await readSlowly(
        STALL_MS,
        patience.signal,
        flood,
        () => last,
      );
      text = `A slow reader, silent for ${STALL_MS / 1000} s: ${count(received)} received late, ` +
        `${count(missed)} missed; the hub told of ${count(told)}.`;
    } catch (error) {
      if (!patience.signal.aborted) text = `The slow reader has failed: ${error}.`;
    }
  }

  async restart() {
    const [old = ""] = this.stream.cursor.split(":");
    let hub = Infinity;
    const experiment = this.begin("restart", 3000, (before) => {
      const { hellos, verdict, epoch, ...settled } = this.settled();
      if (hellos <= before.hellos || settled.hub < hub) return null;
      const { replayed, missed } = difference(this.books().sums, before.sums);
      const stayed = epoch === old ? "the epoch is still" : "a new epoch,";
      return `Restarted: ${verdict}, ${stayed} ${shortCursor(epoch)} ${
        count(replayed)
      } replayed, ` +
        `${count(missed)} missed.`;
    });
    const reply = await post("/restart", {});
    if (reply.ok) hub = reply.body.hub;
    else this.finish(experiment, `No restart: ${reply.error}.`);
  }
}

/**
 * @param {Sums} now
 * @param {Sums} before
 * @returns {Sums}
 */
function difference(now, before) {
  return {
    published: now.published - before.published,
    received: now.received - before.received,
    missed: now.missed - before.missed,
    replayed: now.replayed - before.replayed,
  };
}
