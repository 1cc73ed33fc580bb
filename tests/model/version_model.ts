/**
 * A version map as a list that is searched: nothing in it has a key.
 *
 * @module
 */
import type { Subject } from "../../src/client/types.ts";
import type { VersionSnapshot } from "../../src/client/versions.ts";

/** One call of a version map. */
export type MapCall =
  | { readonly call: "bind"; readonly epoch: string }
  | { readonly call: "forget" | "has"; readonly subject: Subject }
  | {
    readonly call: "observe";
    readonly subject: Subject;
    readonly version: string;
    readonly epoch: string | undefined;
  };

/** The list. */
export class VersionModel {
  /** What was told to those who listen for stale stamps. */
  readonly stale: (readonly [Subject, string])[] = [];
  #epoch = "";
  #rows: { kind: string; ref: string; version: string }[] = [];

  /**
   * Makes a call.
   *
   * @param step The call.
   * @returns What it returns.
   */
  apply(step: MapCall): boolean | void {
    switch (step.call) {
      case "bind":
        return this.#bind(step.epoch);
      case "has":
        return this.#find(step.subject) !== undefined;
      case "forget":
        this.#rows = this.#rows.filter((row) => row !== this.#find(step.subject));
        return;
      case "observe":
        return this.#observe(step.subject, step.version, step.epoch);
    }
  }

  /** What it holds. */
  snapshot(): VersionSnapshot {
    return { epoch: this.#epoch, subjects: this.#rows.map((row) => ({ ...row })) };
  }

  #bind(epoch: string): boolean {
    if (epoch === this.#epoch) return false;
    const held = this.#rows.length > 0;
    this.#epoch = epoch;
    this.#rows = [];
    return held;
  }

  #observe({ kind, ref }: Subject, version: string, epoch: string | undefined): boolean {
    if (epoch !== undefined && this.#epoch !== "" && epoch !== this.#epoch) {
      this.stale.push([{ kind, ref }, epoch]);
      return false;
    }
    const row = this.#find({ kind, ref });
    if (row === undefined) this.#rows.push({ kind, ref, version });
    else row.version = version;
    return true;
  }

  #find({ kind, ref }: Subject): { version: string } | undefined {
    return this.#rows.find((row) => row.kind === kind && row.ref === ref);
  }
}
