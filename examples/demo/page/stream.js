// @ts-check
/**
 * The page's end of its browser's stream. All tabs share one connection, which lives in a
 * SharedWorker; where there is none, one of the tabs carries it for the others.
 *
 * This file turns what the library tells into what this page shows: nothing here reconnects, counts
 * silence or keeps a cursor over a lost connection.
 */
import { attachToWorker } from "/lib/tabs.js";
import { catchUp } from "./catch_up.js";
import { offsetOf } from "./cursor.js";
import { Network } from "./network.js";

/**
 * @typedef {{ verdict: string, resumed: boolean, epoch: string, floor: string, head: string,
 *   keepaliveMs: number }} Hello
 * @typedef {{ type: string, data: string, id: string | null }} LibraryFrame
 * @typedef {{ name: string, data: string, id: string | null, replayed: boolean }} Frame
 * @typedef {{
 *   tag: string,
 *   cursor: string,
 *   complete: boolean,
 *   onHello: (hello: Hello, presented: string) => void,
 *   onJoin: (cursor: string) => void,
 *   onFrame: (frame: Frame) => void,
 *   onRecord: (record: Record<string, any>) => void,
 * }} StreamOptions
 */

/** @type {Record<string, string>} */
const CARRIERS = {
  worker: "a SharedWorker",
  leader: "this tab",
  follower: "another tab",
  own: "this tab alone",
};

export class Stream {
  /**
   * @param {StreamOptions} options `cursor`: up to where the page's books go. `complete`: whether the
   * page wants every event, also those that came while it was away and the others' stream went on.
   */
  constructor(options) {
    this.options = options;
    /** @type {Hello | null} The hello of the open connection, if this tab was there to hear it. */
    this.hello = null;
    /** The cursor of the last hello's head. */
    this.head = "";
    /** Whether this tab knows of the open connection: by its hello, or because it came later. */
    this.joined = false;
    this.lastFrameAt = -Infinity;
    /** When the next attempt starts, on the clock of `performance.now()`. */
    this.waitUntil = 0;
    /** How many tabs this connection feeds. */
    this.tabs = 1;
    /** Up to where the page has got everything itself. */
    this.got = options.cursor;
    this.catching = false;
    this.network = new Network();
    this.attachment = attachToWorker({
      worker: () => new SharedWorker("/worker.js", { type: "module", name: "tidemark" }),
      name: "tidemark-demo",
      url: "/events",
      tag: options.tag,
      cursor: options.cursor,
      host: { alive: { url: "/alive" } },
      online: this.network,
      onFrame: (frame) => this.receive(frame),
      onLifecycle: (record) => this.note(record),
      revalidate: ({ signal }) => this.catchUp(signal),
    });
    // A page that is kept asleep does not hear what becomes of the connection.
    addEventListener("pagehide", () => this.part());
  }

  get state() {
    return this.attachment.state();
  }

  /** Up to where the page knows of everything. */
  get cursor() {
    return this.catching ? this.got : this.attachment.cursor();
  }

  /** Who carries the connection, in words. */
  get carrier() {
    const mode = this.attachment.mode();
    return CARRIERS[mode] ?? mode;
  }

  /** Who carries it, and for how many. */
  get carriage() {
    return `${this.carrier}, for ${this.tabs} ${this.tabs === 1 ? "tab" : "tabs"}`;
  }

  /** How long the stream still waits until it tries again, in milliseconds; 0 when nobody knows. */
  get waits() {
    return this.state === "backoff" ? Math.max(0, this.waitUntil - performance.now()) : 0;
  }

  /**
   * @param {LibraryFrame} frame
   * @param {boolean} [replayed]
   */
  receive({ type, data, id }, replayed = this.isReplay(id)) {
    this.lastFrameAt = performance.now();
    if (id !== null) this.got = id;
    this.options.onFrame({ name: type, data, id, replayed });
  }

  /** @param {string | null} id */
  isReplay(id) {
    const { hello } = this;
    return hello !== null && hello.resumed && id !== null && offsetOf(id) <= Number(hello.head);
  }

  /**
   * The library asks for the page's state to be brought up to date, and holds what comes meanwhile.
   * The state of this page is a list of events: what it lacks of them, if anything, is replayed. After
   * a short absence it lacks none: what went by then is kept for it.
   * @param {AbortSignal} signal
   */
  async catchUp(signal) {
    const to = this.attachment.cursor();
    const { got } = this;
    if (!this.options.complete || got === "" || got === to) return;
    this.catching = true;
    try {
      await catchUp(got, to, signal, (frame) => this.receive(frame, true));
    } finally {
      this.catching = false;
    }
  }

  /** @param {Record<string, any>} record */
  note(record) {
    switch (record.kind) {
      case "state":
        if (record.to !== "open") this.part();
        this.waitUntil = performance.now() + (record.waitMs ?? 0);
        break;
      case "hello":
        this.joined = true;
        this.hello = /** @type {Hello} */ (record);
        // Before the first event it is the head of the hello before.
        this.options.onHello(this.hello, this.cursor || this.head);
        this.head = `${record.epoch}:${record.head}`;
        break;
      case "tab_attached":
        this.tabs = record.tabs;
        // The first one that a tab hears is its own.
        if (record.state !== "open" || this.joined) break;
        this.joined = true;
        this.options.onJoin(this.got);
        break;
      case "tab_detached":
        this.tabs = record.tabs;
    }
    this.options.onRecord(record);
  }

  part() {
    this.hello = null;
    this.joined = false;
  }
}
