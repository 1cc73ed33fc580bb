// @ts-check
/** The second page: the client's records, one line each, and its states as a band of colours. */
import { post } from "./post.js";
import { Records } from "./records.js";
import { Strip } from "./strip.js";
import { Stream } from "./stream.js";
import { browserTag } from "./tag.js";
import { byId, showState, write } from "./view.js";

const OFFLINE_MS = 10_000;
const DRAW_MS = 250;

const tag = browserTag();
const strip = new Strip(/** @type {HTMLCanvasElement} */ (byId("strip")), byId("states"));
const records = new Records(byId("records"), byId("total"));

const stream = new Stream({
  tag,
  cursor: "",
  complete: false,
  onHello() {},
  onJoin() {},
  onFrame() {},
  onRecord(record) {
    records.add(record);
    strip.mark();
    strip.enter(stream.state);
  },
});

function tick() {
  const { state } = stream;
  showState(state, stream.waits);
  write("carrier", stream.carriage);
  byId("cut").setAttribute("aria-disabled", String(state !== "open"));
  byId("offline").setAttribute("aria-disabled", String(!stream.network.online()));
  for (const item of byId("states").children) {
    const on = /** @type {HTMLElement} */ (item).dataset["state"] === state;
    if (on) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
  }
  strip.enter(state);
  strip.draw();
}

/**
 * @param {string} id
 * @param {() => void} press
 */
function bind(id, press) {
  byId(id).addEventListener("click", ({ currentTarget }) => {
    if (/** @type {Element} */ (currentTarget).getAttribute("aria-disabled") !== "true") press();
    tick();
  });
}

write("tag", tag);
bind("cut", () => void post("/cut", { tag }));
bind("offline", () => stream.network.goOffline(OFFLINE_MS));
setInterval(tick, DRAW_MS);
addEventListener("resize", tick);
tick();
