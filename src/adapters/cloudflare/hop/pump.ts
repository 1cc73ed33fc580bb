/**
 * Doing one step after another, by one who does them at a time.
 *
 * @module
 */

/** Steps that are done as long as there is something to do. */
export class Pump {
  readonly #step: () => Promise<boolean>;
  readonly #failed: () => void;
  #running = false;
  /** Whether something has changed since the step that is under way began. */
  #again = false;

  /**
   * @param step Does one step; says whether there may be more to do.
   * @param failed Called when a step has thrown.
   */
  constructor(step: () => Promise<boolean>, failed: () => void) {
    this.#step = step;
    this.#failed = failed;
  }

  /** Does steps until there is nothing to do; a call meanwhile makes the one who does them look again. */
  run(): void {
    this.#again = true;
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      while (this.#again) {
        this.#again = false;
        if (await this.#step()) this.#again = true;
      }
    } catch {
      this.#failed();
    } finally {
      this.#running = false;
    }
  }
}
