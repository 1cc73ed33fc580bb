/**
 * A page that shares its profile's one stream, built from a description that crosses as JSON. It
 * records all that it is told.
 *
 * @module
 */
import type { LifecycleRecord, StreamState, VisibilitySource } from "../../../client.ts";
import { attachToWorker, type TabAttachment, type TabMode } from "../../../src/client/tabs.ts";
import { type LifeEvent, recordLife } from "./recorder.ts";

/** How a page shares the stream. */
export interface TabDescription {
  /** The worker's script; `null` where there is to be no worker. */
  readonly worker: string | null;
  /** The interval of the beats, in milliseconds. */
  readonly beatMs: number;
  /** Whether the page does not hear that it is left or frozen. */
  readonly deaf?: boolean;
}

/** A lifecycle record, with its time; errors are text. */
export type SeenRecord = LifecycleRecord & { readonly at: number };

/** What the page offers as `globalThis.probe`. */
export interface TabsProbe {
  readonly life: readonly LifeEvent[];
  /** The data of every frame with an id, in order. */
  readonly seen: readonly string[];
  readonly records: readonly SeenRecord[];
  /** Whether each revalidation was a full one. */
  readonly revalidations: readonly boolean[];
  /** Attaches. */
  begin(description: TabDescription): void;
  /** Whether it has attached in this life of the page. */
  begun(): boolean;
  state(): StreamState;
  cursor(): string;
  mode(): TabMode | null;
  reconnect(): void;
  detach(reason: "logout" | null): void;
}

class Probe implements TabsProbe {
  readonly life: readonly LifeEvent[] = recordLife();
  readonly seen: string[] = [];
  readonly records: SeenRecord[] = [];
  readonly revalidations: boolean[] = [];
  #tab: TabAttachment | null = null;

  begin({ worker, beatMs, deaf = false }: TabDescription): void {
    this.#tab = attachToWorker({
      ...(worker === null ? {} : { worker: () => new SharedWorker(worker, { type: "module" }) }),
      url: "/events",
      timing: { heartbeatMs: beatMs },
      ...(deaf ? { visibility: DEAF } : {}),
      onFrame: ({ data, id }) => {
        if (id !== null) this.seen.push(data);
      },
      revalidate: ({ full }) => void this.revalidations.push(full),
      onLifecycle: (record) => {
        const error = "error" in record ? { error: String(record.error) } : {};
        this.records.push({ ...record, ...error, at: Math.round(performance.now()) });
      },
    });
  }

  begun(): boolean {
    return this.#tab !== null;
  }

  state(): StreamState {
    return this.#tab?.state() ?? "stopped";
  }

  cursor(): string {
    return this.#tab?.cursor() ?? "";
  }

  mode(): TabMode | null {
    return this.#tab?.mode() ?? null;
  }

  reconnect(): void {
    this.#tab?.reconnect();
  }

  detach(reason: "logout" | null): void {
    this.#tab?.detach(reason ?? undefined);
  }
}

/** Somebody always looks, and nothing ever happens to the page, as far as the tab is told. */
const DEAF: VisibilitySource = { hidden: () => false, subscribe: () => () => {} };

Object.assign(globalThis, { probe: new Probe() });
