/**
 * The page's end of its profile's stream. All tabs share one connection, which lives in a
 * SharedWorker; where there is none, one of the tabs carries it for the others.
 *
 * This file turns what the library tells into what this page shows: nothing here reconnects, counts
 * silence or keeps a cursor.
 */
import { attachToWorker } from "/lib/tabs.js";
import { offsetOf } from "./cursor.js";

/**
 * @typedef {{ verdict: string, resumed: boolean, epoch: string, floor: string, head: string,
 *   keepaliveMs: number }} Hello
 * @typedef {{ name: string, data: string, id: string | null, replayed: boolean }} Frame
 * @typedef {{
 *   tag: string,
 *   cursor: string,
 *   onHello: (hello: Hello, presented: string) => void,
 *   onFrame: (frame: Frame) => void,
 *   onRecord: (record: Record<string, any>) => void,
 * }} StreamOptions
 */

export class Stream {
  /** @param {StreamOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {Hello | null} The hello of the open connection. */
    this.hello = null;
    this.lastFrameAt = 0;
    /** When the next attempt starts, on the clock of `performance.now()`. */
    this.waitUntil = 0;
    /** How many tabs this connection feeds. */
    this.tabs = 1;
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
    });
  }

  get state() {
    return this.attachment.state();
  }

  get cursor() {
    return this.attachment.cursor();
  }

  /** Who carries the connection: `worker`, `leader`, `follower` or `own`. */
  get mode() {
    return this.attachment.mode();
  }

  /**
   * Says that there is no network, for a while: to the stream, and so to every tab on it.
   * @param {number} ms
   */
  goOffline(ms) {
    this.network.set(false);
    setTimeout(() => this.network.set(true), ms);
  }

  /** @param {{ type: string, data: string, id: string | null }} frame */
  receive({ type, data, id }) {
    this.lastFrameAt = performance.now();
    const { hello } = this;
    const replayed = hello !== null && hello.resumed && id !== null &&
      offsetOf(id) <= Number(hello.head);
    this.options.onFrame({ name: type, data, id, replayed });
  }

  /** @param {Record<string, any>} record */
  note(record) {
    switch (record.kind) {
      case "state":
        if (record.to !== "open") this.hello = null;
        this.waitUntil = performance.now() + (record.waitMs ?? 0);
        break;
      case "hello":
        this.hello = /** @type {Hello} */ (record);
        this.options.onHello(this.hello, this.cursor);
        break;
      case "tab_attached":
      case "tab_detached":
        this.tabs = record.tabs;
    }
    this.options.onRecord(record);
  }
}

/** The platform's word on the network, which a button of this page may overrule. */
class Network {
  /** @type {Set<(online: boolean) => void>} */
  listeners = new Set();
  cut = false;

  constructor() {
    for (const type of ["online", "offline"]) addEventListener(type, () => this.tell());
  }

  /** @param {boolean} there */
  set(there) {
    this.cut = !there;
    this.tell();
  }

  tell() {
    for (const listener of this.listeners) listener(this.online());
  }

  online() {
    return navigator.onLine && !this.cut;
  }

  /** @param {(online: boolean) => void} listener */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
