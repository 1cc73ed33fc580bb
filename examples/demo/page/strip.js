// @ts-check
/** The states of the last two minutes as a band of colours, with a mark below it for each record. */

const SPAN_MS = 120_000;
/** A state of a few milliseconds is seen, too: as wide as this, in CSS pixels. */
const LEAST = 2;
/** As many marks, and as many states, are remembered. */
const MAX = 1000;

export class Strip {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Element} legend Its items have `data-state`, and the state's colour in `--colour`.
   */
  constructor(canvas, legend) {
    this.canvas = canvas;
    this.legend = legend;
    /** @type {{ at: number, state: string }[]} Oldest first. */
    this.states = [];
    /** @type {number[]} When each record came. */
    this.marks = [];
  }

  /** @param {string} state The state that the stream has now. */
  enter(state) {
    const { states } = this;
    if (states[states.length - 1]?.state === state) return;
    states.push({ at: Date.now(), state });
    if (states.length > MAX) states.shift();
  }

  mark() {
    this.marks.push(Date.now());
    if (this.marks.length > MAX) this.marks.shift();
  }

  draw() {
    const { canvas, legend, states, marks } = this;
    const now = Date.now();
    // What has left the picture is forgotten, but for the state in which it begins.
    while ((states[1]?.at ?? Infinity) < now - SPAN_MS) states.shift();
    while ((marks[0] ?? Infinity) < now - SPAN_MS) marks.shift();

    const box = canvas.getBoundingClientRect();
    const scale = devicePixelRatio || 1;
    const width = Math.round(box.width * scale);
    const height = Math.round(box.height * scale);
    if (canvas.width !== width || canvas.height !== height) {
      Object.assign(canvas, { width, height });
    }
    const pen = canvas.getContext("2d");
    if (pen === null) return;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);

    /** @type {Map<string | undefined, string>} */
    const colours = new Map();
    for (const item of /** @type {Iterable<HTMLElement>} */ (legend.children)) {
      const colour = getComputedStyle(item).getPropertyValue("--colour").trim();
      colours.set(item.dataset["state"], colour);
    }
    const theme = getComputedStyle(document.documentElement);
    const x = (/** @type {number} */ at) => box.width * Math.max(0, 1 - (now - at) / SPAN_MS);
    const band = box.height * 0.64;
    pen.fillStyle = theme.getPropertyValue("--line");
    pen.fillRect(0, band - 1, box.width, 1);
    // From the newest to the oldest: so a short state lies over its neighbour, not below it.
    let end = now;
    for (const { at, state } of [...states].reverse()) {
      pen.fillStyle = colours.get(state) ?? "";
      pen.fillRect(x(at), 0, Math.max(LEAST, x(end) - x(at)), band);
      end = at;
    }
    pen.fillStyle = theme.getPropertyValue("--muted");
    for (const at of marks) pen.fillRect(Math.min(x(at), box.width - 1), band + 4, 1, box.height);
    canvas.setAttribute(
      "aria-label",
      `The states of the last two minutes, now ${states[states.length - 1]?.state}`,
    );
  }
}
