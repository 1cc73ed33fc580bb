/**
 * What an application writes on a connection before live frames: its hook runs once, in the memory in
 * which the connection began.
 *
 * @module
 */

/** The opening of one connection. */
export class HopOpening {
  #at: number | null = null;
  #hook: (() => Promise<void>) | null = null;
  #open: boolean;

  /** @param open Whether one was under way when the object's memory went away. */
  constructor(open: boolean) {
    this.#open = open;
  }

  /** Whether the application's frames are still to come. */
  get open(): boolean {
    return this.#open;
  }

  /** Whether nobody knows them any more. */
  get lost(): boolean {
    return this.#open && this.#at === null;
  }

  /** Before they have come the connection goes no further than this; `null` when they have. */
  get at(): number | null {
    return this.#at;
  }

  /**
   * Begins one.
   *
   * @param hook Writes the frames.
   * @param at Everything up to this offset comes before them.
   */
  begin(hook: () => Promise<void>, at: number): void {
    this.#hook = hook;
    this.#at = at;
    this.#open = true;
  }

  /**
   * Runs the hook, unless it runs.
   *
   * @param done Called when it has written everything.
   * @param failed Called when it has thrown.
   */
  run(done: () => void, failed: () => void): void {
    const hook = this.#hook;
    this.#hook = null;
    hook?.().then(() => {
      this.#open = false;
      this.#at = null;
      done();
    }, failed);
  }
}
