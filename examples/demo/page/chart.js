// @ts-check
/**
 * Line and bar charts on a canvas, of the last minute. A line shows where it came from: what was
 * replayed has dots, what was missed is a hatched gap.
 */

export const WINDOW_MS = 60_000;
/** More than a minute of two a second. */
const MAX_POINTS = 400;
const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const GUTTER = 42;
const BOTTOM = 20;
const TOP = 8;
const RIGHT = 8;

/**
 * @typedef {{ at: number, value: number, missed: number, replayed: boolean }} Point
 * @typedef {{ kind: "line" | "bars", log?: boolean, floor: number, max?: number,
 *   tick: (value: number) => string }} ChartOptions
 * @typedef {{ ink: string, muted: string, grid: string, accent: string, warn: string,
 *   surface: string }} Palette
 */

/** @returns {Palette} The colours of the theme, from the style sheet. */
export function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const read = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    ink: read("--ink"),
    muted: read("--muted"),
    grid: read("--line"),
    accent: read("--accent"),
    warn: read("--warn"),
    surface: read("--surface"),
  };
}

export class Chart {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {ChartOptions} options `floor` is the least upper end of the axis; `max` fixes it.
   */
  constructor(canvas, options) {
    this.canvas = canvas;
    this.options = options;
    /** @type {Point[]} */
    this.points = [];
  }

  /** @param {Point} point */
  push(point) {
    this.points.push(point);
    if (this.points.length > MAX_POINTS) this.points.splice(0, this.points.length - MAX_POINTS);
  }

  /**
   * @param {number} now The right edge, in milliseconds since the Unix epoch.
   * @param {Palette} palette
   */
  draw(now, palette) {
    const { canvas } = this;
    const box = canvas.getBoundingClientRect();
    if (box.width === 0) return;
    const scale = devicePixelRatio || 1;
    const width = Math.round(box.width * scale);
    const height = Math.round(box.height * scale);
    if (canvas.width !== width || canvas.height !== height) {
      Object.assign(canvas, { width, height });
    }
    const g = canvas.getContext("2d");
    if (g === null) return;
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, box.width, box.height);
    g.font = FONT;

    const first = this.points.findIndex((point) => point.at >= now - WINDOW_MS);
    // One point more than fits, so that the line enters from the edge.
    const shown = first === -1 ? [] : this.points.slice(Math.max(0, first - 1));
    const top = this.options.max ?? niceTop(shown, this.options);
    const area = { x: GUTTER, y: TOP, w: box.width - GUTTER - RIGHT, h: box.height - TOP - BOTTOM };
    const x = (/** @type {number} */ at) => area.x + area.w * (1 + (at - now) / WINDOW_MS);
    const y = (/** @type {number} */ value) => area.y + area.h * (1 - this.share(value, top));

    this.drawAxes(g, palette, area, top, y);
    g.save();
    g.beginPath();
    g.rect(area.x, 0, area.w + RIGHT, area.y + area.h + 1);
    g.clip();
    if (this.options.kind === "bars") drawBars(g, palette, area, shown, x, y);
    else drawLine(g, palette, area, shown, x, y);
    g.restore();
  }

  /**
   * @param {number} value
   * @param {number} top
   */
  share(value, top) {
    const clamped = Math.min(Math.max(value, 0), top);
    return this.options.log ? Math.log10(1 + clamped) / Math.log10(1 + top) : clamped / top;
  }

  /**
   * @param {CanvasRenderingContext2D} g
   * @param {Palette} palette
   * @param {{ x: number, y: number, w: number, h: number }} area
   * @param {number} top
   * @param {(value: number) => number} y
   */
  drawAxes(g, palette, area, top, y) {
    g.lineWidth = 1;
    g.strokeStyle = palette.grid;
    g.fillStyle = palette.muted;
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const value of ticks(top, this.options.log === true)) {
      const at = Math.round(y(value)) + 0.5;
      g.beginPath();
      g.moveTo(area.x, at);
      g.lineTo(area.x + area.w, at);
      g.stroke();
      g.fillText(this.options.tick(value), area.x - 8, at);
    }
    g.textBaseline = "alphabetic";
    const seconds = WINDOW_MS / 1000;
    const step = area.w < 260 ? 30 : 15;
    for (let s = 0; s <= seconds; s += step) {
      g.textAlign = s === 0 ? "left" : s === seconds ? "right" : "center";
      const label = s === seconds ? "now" : `−${seconds - s} s`;
      g.fillText(label, area.x + area.w * s / seconds, area.y + area.h + 16);
    }
  }
}

/**
 * @param {number} top
 * @param {boolean} log
 */
function ticks(top, log) {
  if (!log) return [0, top / 2, top];
  const values = [0];
  for (let value = 10; value <= top; value *= 10) values.push(value);
  return values;
}

/**
 * The end of the axis: a round number above all points, a power of ten on a logarithmic one.
 * @param {Point[]} points
 * @param {ChartOptions} options
 */
function niceTop(points, options) {
  const peak = points.reduce((most, point) => Math.max(most, point.value), options.floor);
  const power = 10 ** Math.floor(Math.log10(peak));
  const steps = options.log ? [1, 10] : [1, 2, 3, 4, 6, 8, 10];
  return power * (steps.find((step) => step * power >= peak) ?? 10);
}

/**
 * @param {CanvasRenderingContext2D} g
 * @param {Palette} palette
 * @param {{ y: number, h: number }} area
 * @param {Point[]} points
 * @param {(at: number) => number} x
 * @param {(value: number) => number} y
 */
function drawLine(g, palette, area, points, x, y) {
  const bottom = area.y + area.h;
  /** @type {Point[][]} Stretches without a hole. */
  const stretches = [];
  for (const [i, point] of points.entries()) {
    const before = points[i - 1];
    if (before !== undefined && point.missed > 0) {
      hatch(g, palette, x(before.at), x(point.at), area.y, bottom);
    }
    if (before === undefined || point.missed > 0) stretches.push([]);
    stretches[stretches.length - 1]?.push(point);
  }
  g.lineJoin = "round";
  for (const stretch of stretches) {
    const first = stretch[0];
    const last = stretch[stretch.length - 1];
    if (first === undefined || last === undefined) continue;
    g.beginPath();
    for (const point of stretch) g.lineTo(x(point.at), y(point.value));
    g.strokeStyle = palette.accent;
    g.lineWidth = 1.75;
    g.stroke();
    g.lineTo(x(last.at), bottom);
    g.lineTo(x(first.at), bottom);
    g.globalAlpha = 0.1;
    g.fillStyle = palette.accent;
    g.fill();
    g.globalAlpha = 1;
  }
  const newest = points[points.length - 1];
  for (const point of points) {
    if (!point.replayed && point !== newest) continue;
    g.beginPath();
    g.arc(x(point.at), y(point.value), point === newest ? 3.5 : 2.5, 0, 2 * Math.PI);
    g.fillStyle = point.replayed ? palette.surface : palette.accent;
    g.strokeStyle = palette.accent;
    g.lineWidth = 1.5;
    g.fill();
    g.stroke();
  }
}

/**
 * @param {CanvasRenderingContext2D} g
 * @param {Palette} palette
 * @param {{ y: number, h: number, w: number }} area
 * @param {Point[]} points
 * @param {(at: number) => number} x
 * @param {(value: number) => number} y
 */
function drawBars(g, palette, area, points, x, y) {
  const bottom = area.y + area.h;
  const width = Math.max(1, area.w * 1000 / WINDOW_MS - 1);
  for (const point of points) {
    const top = y(point.value);
    g.fillStyle = palette.accent;
    g.globalAlpha = point.replayed ? 1 : 0.55;
    g.fillRect(x(point.at) - width, top, width, bottom - top);
  }
  g.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} g
 * @param {Palette} palette
 * @param {number} left
 * @param {number} right
 * @param {number} top
 * @param {number} bottom
 */
function hatch(g, palette, left, right, top, bottom) {
  g.save();
  g.beginPath();
  g.rect(left, top, right - left, bottom - top);
  g.clip();
  g.globalAlpha = 0.14;
  g.fillStyle = palette.warn;
  g.fillRect(left, top, right - left, bottom - top);
  g.globalAlpha = 0.8;
  g.strokeStyle = palette.warn;
  g.lineWidth = 1;
  g.beginPath();
  for (let from = left - (bottom - top); from < right; from += 7) {
    g.moveTo(from, bottom);
    g.lineTo(from + bottom - top, top);
  }
  g.stroke();
  g.restore();
}
