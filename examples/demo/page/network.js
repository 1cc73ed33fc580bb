// @ts-check
/**
 * The platform's word on the network, which a button may overrule for a while: in every tab, for the
 * shared stream believes the tab that spoke last.
 */
const KEY = "offlineUntil";
/** A time that is further away was left by a clock that has been set back since. */
const MAX_MS = 60_000;

export class Network {
  constructor() {
    /** @type {Set<(online: boolean) => void>} */
    this.listeners = new Set();
    for (const type of ["online", "offline"]) addEventListener(type, () => this.tell());
    addEventListener("storage", ({ key }) => {
      if (key === KEY) this.watch();
    });
    this.watch();
  }

  /**
   * Says that there is no network, for a while.
   * @param {number} ms 60 000 at most.
   */
  goOffline(ms) {
    localStorage.setItem(KEY, String(Date.now() + ms));
    this.watch();
  }

  online() {
    return navigator.onLine && this.left() <= 0;
  }

  /** @param {(online: boolean) => void} listener */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** How many milliseconds of being offline are left. */
  left() {
    const ms = Number(localStorage.getItem(KEY)) - Date.now();
    return ms > MAX_MS ? 0 : ms;
  }

  watch() {
    this.tell();
    // A little later than that: a timer may be a millisecond early.
    if (this.left() > 0) setTimeout(() => this.tell(), this.left() + 5);
  }

  tell() {
    for (const listener of this.listeners) listener(this.online());
  }
}
