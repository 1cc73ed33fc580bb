// @ts-check
/** The demo's page: it reads the stream, keeps the books, and shows both. */
import { charts, describeCharts, drawCharts } from "./charts.js";
import { Experiments } from "./experiments.js";
import { Ledger } from "./ledger.js";
import { Stream } from "./stream.js";
import { browserTag } from "./tag.js";
import {
  byId,
  count,
  log,
  seconds,
  shortCursor,
  showConnections,
  showState,
  showTags,
  showTopics,
  write,
} from "./view.js";

/** @type {Record<string, string>} How a stream ended: the names that are not plain by themselves. */
const ENDS = { ended: "cut off", hidden_closed: "asleep" };
const TOPICS = ["cpu", "memory", "delay", "burst"];
const GIB = 2 ** 30;
const TICK_MS = 250;

const tag = browserTag();
/** What the page knew when it was left, and the cursor that says so: a reload goes on from there. */
const kept = JSON.parse(sessionStorage.getItem("books") ?? "null");
// For this page alone: a tab that is a copy of it begins with books of its own.
sessionStorage.removeItem("books");
const ledger = new Ledger(TOPICS, kept?.rows);
/** @type {import("./view.js").Connection[]} Newest first. */
const connections = [];
const seen = { hellos: 0, keepalives: 0, slow: 0, shutdown: 0, lags: 0, lagged: 0 };
/** The connection on which the noted claim came, and the last one whose claim was settled. */
let claimed = { hellos: 0, verdict: "", epoch: "", hub: 0 };
let settled = claimed;
/** Why the hub has reset the connection; "" when it has not. */
let reset = "";
/** What the server's clock is ahead of ours, as far as the least delayed event shows. */
let skew = -Infinity;
/** @type {Map<string, number>} By topic, what was missed since the last point of its chart. */
const holes = new Map();
/** @type {Map<string, number>} Who was here, with how many connections. */
let present = new Map();
let changed = true;

const stream = new Stream({
  tag,
  cursor: kept?.cursor ?? "",
  complete: true,
  onHello(hello, presented) {
    seen.hellos++;
    const { verdict, resumed, epoch, floor, head } = hello;
    enter({ verdict, resumed, presented, epoch, span: `:${floor} … ${head}` });
    log(
      `Hello: ${verdict}. We presented ${
        presented === "" ? "no cursor" : shortCursor(presented)
      }, the hub holds ${floor} … ${head}.`,
    );
  },
  onJoin(presented) {
    const [epoch = ""] = stream.cursor.split(":");
    enter({ verdict: "joined", resumed: null, presented, epoch, span: "" });
    log(
      `We join an open connection${
        presented === "" ? "" : `, and go on from ${shortCursor(presented)}`
      }.`,
    );
  },
  onFrame: receive,
  onRecord: note,
});

/**
 * A connection begins, for this page.
 * @param {Pick<import("./view.js").Connection,
 *   "verdict" | "resumed" | "presented" | "epoch" | "span">} connection
 */
function enter(connection) {
  // The least delay is measured anew: the server may be another machine by now.
  skew = -Infinity;
  // The page was kept asleep meanwhile, and has not heard of an end.
  if (connections[0]?.ended === "") connections[0].ended = "page left";
  connections.unshift({ at: new Date(), replayed: 0, missed: 0, ended: "", ...connection });
  changed = true;
}

/** @param {Record<string, any>} record */
function note(record) {
  changed = true;
  switch (record.kind) {
    case "alive_ack":
      if (record.ok) seen.keepalives++;
      return;
    case "reset":
      if (record.reason === "slow") seen.slow++;
      else seen.shutdown++;
      reset = record.reason;
      return log(`The hub resets the stream: ${record.reason}.`);
    case "lag": {
      seen.lags++;
      seen.lagged += record.missed ?? 0;
      const missed = record.missed === null ? "unknown many" : count(record.missed);
      return log(`The hub tells of a hole: ${missed} events.`);
    }
    case "disconnected":
      return end(reset !== "" ? `reset: ${reset}` : ENDS[record.reason] ?? record.reason);
    case "connect_failed": {
      const { reason, status, detail } = record;
      return log(`An attempt has failed: ${[reason, status, detail].filter(Boolean).join(", ")}.`);
    }
    case "state":
      if (record.to === "connecting") reset = "";
      if (["offline", "hidden_closed", "stopped"].includes(record.to)) {
        end(ENDS[record.to] ?? record.to);
      }
      return;
    case "tab_attached":
    case "tab_detached":
      return log(`Tabs on this connection: ${record.tabs}.`);
    case "worker_spawned":
      return log(`The connection is carried by ${stream.carrier}.`);
    case "worker_dead":
    case "worker_unavailable":
      return log(`The worker does not answer: ${record.kind}.`);
  }
}

/** @param {string} why */
function end(why) {
  const connection = connections[0];
  if (connection === undefined || connection.ended !== "") return;
  connection.ended = why;
  log(`The stream has ended: ${why}.`);
}

const experiments = new Experiments(
  stream,
  () => ({
    sums: ledger.totals(),
    burst: { ...ledger.row("burst") },
    hellos: seen.hellos,
  }),
  () => settled,
  () => ledger.row("burst").last,
);

/** @param {import("./stream.js").Frame} frame */
function receive(frame) {
  const event = JSON.parse(frame.data);
  if (frame.name === "status") return showStatus(event);
  const { missed, twice } = ledger.receive(frame.name, event, frame.replayed);
  const connection = connections[0];
  if (connection !== undefined) {
    connection.missed += missed;
    if (frame.replayed && !twice) connection.replayed++;
  }
  if (missed > 0) log(`Missed: ${count(missed)} of ${frame.name}.`);
  if (!frame.replayed) skew = Math.max(skew, event.at - Date.now());
  rate.count++;
  if (frame.replayed) rate.replayed = true;
  changed = true;
  if (frame.name === "burst") return;
  const value = frame.name === "memory" ? event.value / GIB : event.value;
  const chart = charts[/** @type {"cpu" | "memory" | "delay"} */ (frame.name)];
  chart.push({
    at: event.at,
    value,
    missed: missed + (holes.get(frame.name) ?? 0),
    replayed: frame.replayed,
  });
  holes.delete(frame.name);
  write(`${frame.name}-value`, value.toFixed(1));
  if (frame.name === "memory") {
    write("memory-note", `of ${(event.total / GIB).toFixed(1)} GiB`);
  } else if (frame.name === "cpu") {
    write("cpu-note", `of ${event.cores}; load average ${event.load.join(", ")}`);
  }
}

/** @param {string} cursor */
function settle(cursor) {
  const losses = ledger.settle(cursor);
  if (losses === null) return;
  settled = claimed;
  changed = true;
  for (const { topic, missed } of losses) {
    const connection = connections[0];
    if (connection !== undefined) connection.missed += missed;
    holes.set(topic, (holes.get(topic) ?? 0) + missed);
    log(`Missed: ${count(missed)} of ${topic}, as its counter at ${shortCursor(cursor)} shows.`);
  }
}

/**
 * @param {import("./ledger.js").Claim & { at: number, hub: number, store: string, floor: number,
 *   clients: number, queued: number, tags: import("./view.js").Tag[] }} status
 */
function showStatus(status) {
  const connection = connections[0];
  claimed = {
    hellos: seen.hellos,
    verdict: connection?.verdict ?? "",
    epoch: connection?.epoch ?? "",
    hub: status.hub,
  };
  ledger.note(status);
  settle(stream.cursor);
  const head = status.cursor.slice(17);
  write("ring", status.floor === 0 ? "nothing yet" : `${status.floor} … ${head}`);
  write("store", status.store);
  if (status.store === "none") sayWithoutJournal();
  write("hub-note", `Streams open: ${status.clients}. Frames waiting: ${count(status.queued)}.`);
  showTags(status.tags, status.at, tag);
  const now = new Map(status.tags.map((one) => [one.tag, one.connections]));
  for (const [name, open] of now) {
    if (name === tag || open > 0 === (present.get(name) ?? 0) > 0) continue;
    log(open > 0 ? `${name} is here.` : `${name} has left.`);
  }
  present = now;
}

/** What the buttons show where nothing is kept but the newest events in the hub's own memory. */
function sayWithoutJournal() {
  write("burst-what", "500 events. While offline that is more than one reply carries: gap_budget.");
  write("re-what", "A new hub, an empty ring: epoch_changed for every tab, a few events missed.");
}

const rate = { count: 0, replayed: false, since: performance.now() };

function closeSecond() {
  const now = performance.now();
  const value = rate.count * 1000 / (now - rate.since);
  charts.rate.push({ at: serverNow(), value, missed: 0, replayed: rate.replayed });
  write("rate-value", count(Math.round(value)));
  Object.assign(rate, { count: 0, replayed: false, since: now });
  describeCharts();
}

/** The server's time, as well as it can be told from its events. */
function serverNow() {
  return Date.now() + (skew === -Infinity ? 0 : skew);
}

/** Writes what has changed; several times a second, however fast events come. */
function tick() {
  experiments.tick();
  showState(stream.state, stream.waits);
  const silence = performance.now() - stream.lastFrameAt;
  write("silence", silence === Infinity ? "none yet" : `${seconds(silence)} s ago`);
  if (stream.cursor !== "") settle(stream.cursor);
  write("cursor", stream.cursor || "none yet");
  const each = stream.hello === null ? "" : `, one each ${stream.hello.keepaliveMs / 1000} s`;
  write("keepalives", `${seen.keepalives}${each}`);
  write("carrier", stream.carriage);
  const { shutdown, slow, lags, lagged } = seen;
  write("resets", shutdown + slow === 0 ? "none" : `${shutdown} shutdown, ${slow} slow`);
  const gaps = `${count(lags)} ${lags === 1 ? "hole" : "holes"}`;
  write("lags", lags === 0 ? "none" : `${count(lagged)} events in ${gaps}`);
  byId("here").classList.toggle("stale", stream.state !== "open");
  if (!changed) return;
  changed = false;
  const totals = ledger.totals();
  write("total-published", count(totals.published));
  write("total-received", count(totals.received));
  write("total-missed", count(totals.missed));
  write("total-replayed", count(totals.replayed));
  write("total-twice", count(totals.twice));
  byId("total-missed").classList.toggle("bad", totals.missed > 0);
  byId("total-twice").classList.toggle("bad", totals.twice > 0);
  showTopics(ledger.rows);
  showConnections(connections);
}

write("tag", tag);
// The books, and up to where they go, in one store: so a reload misses nothing.
addEventListener("pagehide", () => {
  const books = { cursor: stream.cursor, rows: Object.fromEntries(ledger.rows) };
  sessionStorage.setItem("books", JSON.stringify(books));
});
setInterval(tick, TICK_MS);
setInterval(closeSecond, 1000);
drawCharts(serverNow);
