/** The second page: the client's records, one line each, and its states as a strip of colours. */
import { Stream } from "./stream.js";
import { byId, count, make, timeOf, write } from "./view.js";

const MAX_RECORDS = 300;
const SPAN_MS = 120_000;
const DRAW_MS = 250;

/** @type {{ at: number, state: string }[]} Oldest first. */
const states = [{ at: Date.now(), state: "connecting" }];
/** @type {number[]} When a record came. */
const marks = [];
let records = 0;

const stream = new Stream({
  tag: localStorage.getItem("tag") ?? "",
  cursor: "",
  onHello() {},
  onFrame() {},
  onRecord(record) {
    records++;
    marks.push(Date.now());
    if (record.kind === "state") states.push({ at: Date.now(), state: record.to });
    const list = byId("records");
    list.prepend(row(record));
    while (list.childElementCount > MAX_RECORDS) list.lastElementChild?.remove();
    write("total", `${count(records)} so far`);
  },
});

/** What somebody who looks for trouble looks for. */
const TROUBLE =
  /failed|timeout|disconnected|watchdog|lag|rejected|bad|duplicate|discarded|dead|lost/;

/** @param {Record<string, unknown>} record */
function row({ kind, ...rest }) {
  const line = document.createElement("tr");
  if (TROUBLE.test(String(kind))) line.dataset["trouble"] = "";
  const time = document.createElement("td");
  time.append(timeOf(new Date()));
  const name = document.createElement("td");
  name.append(make("span", String(kind), "chip"));
  line.append(time, name, make("td", say(kind, rest), "mono"));
  return line;
}

/**
 * @param {unknown} kind
 * @param {Record<string, unknown>} rest
 */
function say(kind, rest) {
  if (kind === "state") {
    const wait = rest["waitMs"] === undefined ? "" : `, for ${rest["waitMs"]} ms`;
    return `${rest["from"]} → ${rest["to"]}${wait} (attempt ${rest["generation"]})`;
  }
  return Object.entries(rest).map(([name, value]) =>
    `${name} ${value instanceof Error ? value.message : JSON.stringify(value)}`
  ).join(", ");
}

function tick() {
  const { state, mode, tabs } = stream;
  byId("state").dataset["state"] = state;
  write("state", state);
  write("carrier", `carried by a ${mode}, for ${tabs} ${tabs === 1 ? "tab" : "tabs"}`);
  for (const item of byId("states").children) {
    const on = /** @type {HTMLElement} */ (item).dataset["state"] === state;
    if (on) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
  }
}

/** The colours of the states, from the theme. @type {Record<string, string>} */
const COLOURS = {
  open: "--accent",
  connecting: "--accent-soft",
  backoff: "--warn-soft",
  offline: "--warn",
  exhausted: "--warn",
  hidden_closed: "--line",
  stopped: "--line",
};

function draw() {
  const canvas = /** @type {HTMLCanvasElement} */ (byId("strip"));
  const { width, height } = canvas.getBoundingClientRect();
  const [w, h] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  const theme = getComputedStyle(document.documentElement);
  const now = Date.now();
  const x = (/** @type {number} */ at) => w * Math.max(0, 1 - (now - at) / SPAN_MS);
  pen.clearRect(0, 0, w, h);
  states.forEach(({ at, state }, index) => {
    pen.fillStyle = theme.getPropertyValue(COLOURS[state] ?? "--line");
    const end = states[index + 1]?.at ?? now;
    pen.fillRect(x(at), 0, Math.max(1, x(end) - x(at)), h * 0.6);
  });
  pen.fillStyle = theme.getPropertyValue("--muted");
  for (const at of marks) pen.fillRect(x(at), h * 0.7, devicePixelRatio, h * 0.3);
  // What has left the picture is forgotten, but for the state in which it begins.
  while ((states[1]?.at ?? Infinity) < now - SPAN_MS) states.shift();
  while ((marks[0] ?? Infinity) < now - SPAN_MS) marks.shift();
}

setInterval(() => {
  tick();
  draw();
}, DRAW_MS);
