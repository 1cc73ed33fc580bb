// @ts-check
/** The page's four charts, and the clock that draws them. */
import { Chart, readPalette } from "./chart.js";
import { byId } from "./view.js";

const DRAW_MS = 100;
/** For those who want less motion. */
const STILL_MS = 500;

const chartOf = (
  /** @type {string} */ id,
  /** @type {import("./chart.js").ChartOptions} */ options,
) => new Chart(/** @type {HTMLCanvasElement} */ (byId(`${id}-chart`)), options);
const whole = (/** @type {number} */ value) => String(Math.round(value * 10) / 10);

export const charts = {
  cpu: chartOf("cpu", { kind: "line", floor: 1, max: 100, tick: whole }),
  memory: chartOf("memory", { kind: "line", floor: 1, tick: whole }),
  delay: chartOf("delay", { kind: "line", floor: 4, tick: whole }),
  rate: chartOf("rate", {
    kind: "bars",
    log: true,
    floor: 100,
    tick: (value) => value >= 1000 ? `${value / 1000}k` : String(value),
  }),
};

/** Says what the charts show to those who cannot see them. */
export function describeCharts() {
  for (const [id, { canvas }] of Object.entries(charts)) {
    const { textContent } = byId(`${id}-value`);
    canvas.setAttribute("aria-label", `${canvas.dataset["label"]}, now ${textContent}`);
  }
}

/**
 * Draws the charts again and again, as long as somebody sees them.
 * @param {() => number} now The right edge, in milliseconds since the Unix epoch.
 */
export function drawCharts(now) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let palette = readPalette();
  let drawnAt = 0;
  dark.addEventListener("change", () => {
    palette = readPalette();
    drawnAt = 0;
  });
  addEventListener("resize", () => drawnAt = 0);

  /** @param {number} at */
  const draw = (at) => {
    requestAnimationFrame(draw);
    // Ten frames a second move the lines by less than a pixel each.
    if (at - drawnAt < (still.matches ? STILL_MS : DRAW_MS)) return;
    drawnAt = at;
    for (const chart of Object.values(charts)) chart.draw(now(), palette);
  };
  requestAnimationFrame(draw);
}
