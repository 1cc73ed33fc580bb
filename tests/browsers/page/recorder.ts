/**
 * What every test page records: what happens to it, in order.
 *
 * @module
 */

/** Something that happened to the page. */
export interface LifeEvent {
  /** The event's name; `load` for the start of a page's life. */
  readonly type: string;
  /** `visible` or `hidden`, `persisted` or `anew`, `online` or `offline`; else `""`. */
  readonly detail: string;
  /** Milliseconds since the page began. */
  readonly at: number;
}

/**
 * Begins to record.
 *
 * @returns What is recorded, growing.
 */
export function recordLife(): LifeEvent[] {
  const life: LifeEvent[] = [];
  const note = (type: string, detail = ""): void => {
    life.push({ type, detail, at: Math.round(performance.now()) });
  };
  note("load", document.visibilityState);
  document.addEventListener("visibilitychange", () => {
    note("visibilitychange", document.visibilityState);
  });
  for (const type of ["freeze", "resume"]) document.addEventListener(type, () => note(type));
  for (const type of ["pagehide", "pageshow"] as const) {
    addEventListener(type, (event) => note(type, event.persisted ? "persisted" : "anew"));
  }
  for (const type of ["online", "offline"]) {
    addEventListener(type, () => note(type, navigator.onLine ? "online" : "offline"));
  }
  return life;
}
