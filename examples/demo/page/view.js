// @ts-check
/** What the page writes into its document: lists and tables. Text only, never markup. */

const MAX_LOG = 200;
const MAX_CONNECTIONS = 12;
const MAX_OUTCOMES = 3;
const MAX_TAGS = 12;

/**
 * @typedef {{ at: Date, verdict: string, resumed: boolean | null, presented: string, epoch: string,
 *   span: string, replayed: number, missed: number, ended: string }} Connection
 * @typedef {{ tag: string, connections: number, lastAliveAt: number, gone: boolean }} Tag
 */

const numbers = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/** @param {number} value */
export function count(value) {
  return numbers.format(value);
}

/** @param {number} ms */
export function seconds(ms) {
  return (Math.max(0, ms) / 1000).toFixed(1);
}

/**
 * A cursor for a narrow place: the epoch is cut to six characters.
 * @param {string} cursor
 */
export function shortCursor(cursor) {
  return cursor === "" ? "none" : `${cursor.slice(0, 6)}…${cursor.slice(16)}`;
}

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`There is no element #${id}`);
  return element;
}

/**
 * Writes a text, if it is another one: what has not changed costs no layout.
 * @param {string} id
 * @param {string} text
 */
export function write(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

/**
 * @param {string} tag
 * @param {string} text
 * @param {string} [className]
 */
export function make(tag, text, className) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className !== undefined) element.className = className;
  return element;
}

/**
 * Writes where the stream stands.
 * @param {string} state
 * @param {number} waits How long it waits until it tries again, in milliseconds.
 */
export function showState(state, waits) {
  byId("state").dataset["state"] = state;
  /** @type {Record<string, string>} */
  const texts = {
    backoff: waits > 0 ? `back in ${seconds(waits)} s` : "waiting",
    hidden_closed: "asleep",
    exhausted: "given up",
  };
  write("state", texts[state] ?? state);
}

/** @param {Date} at */
export function timeOf(at) {
  const time = make("time", clock.format(at));
  time.setAttribute("datetime", at.toISOString());
  return time;
}

/** @param {string} text */
export function log(text) {
  const list = byId("log");
  const line = document.createElement("li");
  line.append(timeOf(new Date()), make("span", text));
  list.prepend(line);
  while (list.childElementCount > MAX_LOG) list.lastElementChild?.remove();
}

/** @param {string} text */
export function outcome(text) {
  const list = byId("outcomes");
  list.querySelector(".hint")?.remove();
  const line = document.createElement("li");
  line.append(timeOf(new Date()), make("span", text));
  list.prepend(line);
  while (list.childElementCount > MAX_OUTCOMES) list.lastElementChild?.remove();
  log(text);
}

/**
 * Keeps the newest connections, and writes them, newest first.
 * @param {Connection[]} connections
 */
export function showConnections(connections) {
  if (connections.length > MAX_CONNECTIONS) connections.length = MAX_CONNECTIONS;
  byId("hellos").replaceChildren(...connections.map(connectionRow));
}

/** @param {Connection} connection */
function connectionRow(connection) {
  const { at, verdict, resumed, presented, epoch, span } = connection;
  const row = document.createElement("tr");
  row.dataset["verdict"] = verdict;
  const time = document.createElement("td");
  time.append(timeOf(at));
  const judged = document.createElement("td");
  const chip = make("span", verdict, "chip");
  chip.dataset["verdict"] = verdict;
  judged.append(chip);
  const from = cell("Presented", shortCursor(presented), "mono");
  from.title = presented;
  const holds = cell("Floor … head", `${epoch.slice(0, 6)}…${span}`, "mono half");
  holds.title = `Epoch ${epoch}`;
  row.append(
    time,
    judged,
    cell("Resumed", resumed === null ? "–" : resumed ? "yes" : "no", ""),
    cell("Replayed", count(connection.replayed), "num"),
    cell("Missed", count(connection.missed), connection.missed > 0 ? "num bad" : "num"),
    from,
    holds,
    cell("End", connection.ended || "still open", "full"),
  );
  return row;
}

/**
 * @param {string} label What the cell says on a phone, where the table has no head.
 * @param {string} text
 * @param {string} className
 */
function cell(label, text, className) {
  const td = make("td", text, className);
  td.dataset["label"] = label;
  return td;
}

/**
 * @param {ReadonlyMap<string, { published: number, received: number, missed: number }>} rows
 */
export function showTopics(rows) {
  byId("topics").replaceChildren(
    ...[...rows].map(([topic, row]) => {
      const tr = document.createElement("tr");
      const name = make("th", topic);
      name.setAttribute("scope", "row");
      tr.append(
        name,
        make("td", count(row.published), "num"),
        make("td", count(row.received), "num"),
        make("td", count(row.missed), row.missed > 0 ? "num bad" : "num"),
      );
      return tr;
    }),
  );
}

/**
 * @param {readonly Tag[]} tags
 * @param {number} at The server's time.
 * @param {string} own
 */
export function showTags(tags, at, own) {
  const sorted = [...tags].sort((a, b) =>
    Number(b.connections > 0) - Number(a.connections > 0) || a.tag.localeCompare(b.tag)
  );
  const lines = sorted.slice(0, MAX_TAGS).map((tag) => {
    const line = make("li", tag.tag, tag.connections === 0 ? "away" : tag.gone ? "gone" : "");
    const seconds = Math.max(0, Math.round((at - tag.lastAliveAt) / 1000));
    const state = tag.connections === 0 ? "left" : tag.gone ? "silent" : `heard ${seconds} s ago`;
    line.append(make("span", tag.tag === own ? `you, ${state}` : state));
    return line;
  });
  if (sorted.length > MAX_TAGS) lines.push(make("li", `and ${sorted.length - MAX_TAGS} more`));
  byId("here").replaceChildren(...lines);
}
