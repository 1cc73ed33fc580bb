/**
 * A page with one stream of the client, built from a description that crosses as JSON. It records all
 * that the client tells.
 *
 * @module
 */
import {
  createStream,
  type LifecycleRecord,
  type LoadedCursor,
  type Persistence,
  type RevalidateCause,
  type Stream,
  type StreamState,
  type TimingConfig,
} from "../../../client.ts";
import { type LifeEvent, recordLife } from "./recorder.ts";

/** What stream a page is to have. */
export interface StreamDescription {
  /** Its topics; none means everything. */
  readonly topics?: readonly string[];
  /** Times and bounds that differ from the client's own. */
  readonly timing?: Partial<TimingConfig>;
  /**
   * What is kept over a page load, in `sessionStorage`: nothing, the cursor alone, or the cursor and
   * what the page has seen; nothing.
   */
  readonly keep?: "cursor" | "state";
}

/** A frame as the page saw it. */
export interface SeenFrame {
  readonly type: string;
  readonly data: string;
  readonly id: string | null;
  /** Milliseconds since the page began. */
  readonly at: number;
}

/** A lifecycle record, with its time; errors are text. */
export type SeenRecord = LifecycleRecord & { readonly at: number };

/** A revalidation that the page was asked for. */
export interface SeenRevalidation {
  readonly cause: RevalidateCause;
  readonly full: boolean;
  readonly epoch: string;
  readonly at: number;
}

/** What the page offers as `globalThis.probe`. */
export interface StreamProbe {
  readonly life: readonly LifeEvent[];
  /** Every frame of this life of the page, in order. */
  readonly frames: readonly SeenFrame[];
  /** The data of every frame with an id; with `keep: "state"` of the page's earlier lives, too. */
  readonly seen: readonly string[];
  readonly records: readonly SeenRecord[];
  readonly revalidations: readonly SeenRevalidation[];
  /** Builds the stream and starts it. */
  begin(description: StreamDescription): void;
  /** Whether it was built in this life of the page. */
  begun(): boolean;
  start(): void;
  stop(): void;
  reconnect(): void;
  cursor(): string;
  state(): StreamState;
}

const STORE = "tidemark-stream";

interface Stored extends LoadedCursor {
  readonly seen: readonly string[];
}

class Probe implements StreamProbe {
  readonly life: readonly LifeEvent[] = recordLife();
  readonly frames: SeenFrame[] = [];
  readonly records: SeenRecord[] = [];
  readonly revalidations: SeenRevalidation[] = [];
  seen: string[] = [];
  #stream: Stream | null = null;

  begin({ topics = [], timing = {}, keep }: StreamDescription): void {
    const query = new URLSearchParams(topics.map((topic) => ["topic", topic]));
    const at = (): number => Math.round(performance.now());
    this.#stream = createStream({
      url: `/events?${query}`,
      timing,
      ...(keep === undefined ? {} : { persist: this.#persistence(keep) }),
      onFrame: ({ type, data, id }) => {
        this.frames.push({ type, data, id, at: at() });
        if (id !== null) this.seen.push(data);
      },
      revalidate: ({ cause, full, epoch }) => {
        this.revalidations.push({ cause, full, epoch, at: at() });
      },
      onLifecycle: (record) => {
        const error = "error" in record ? { error: String(record.error) } : {};
        this.records.push({ ...record, ...error, at: at() });
      },
    });
    this.#stream.start();
  }

  begun(): boolean {
    return this.#stream !== null;
  }

  start(): void {
    this.#stream?.start();
  }

  stop(): void {
    this.#stream?.stop();
  }

  reconnect(): void {
    this.#stream?.reconnect();
  }

  cursor(): string {
    return this.#stream?.cursor() ?? "";
  }

  state(): StreamState {
    return this.#stream?.state() ?? "stopped";
  }

  /** The cursor, and what it covers, in one item: they cannot come apart. */
  #persistence(keep: "cursor" | "state"): Persistence {
    return {
      load: () => {
        const text = sessionStorage.getItem(STORE);
        if (text === null) return null;
        const { seen, ...loaded } = JSON.parse(text) as Stored;
        if (keep === "cursor") return loaded;
        this.seen = [...seen, ...this.seen];
        return { ...loaded, stateKept: true };
      },
      save: (saved) => {
        const stored: Stored = { ...saved, seen: this.seen };
        sessionStorage.setItem(STORE, JSON.stringify(stored));
      },
    };
  }
}

Object.assign(globalThis, { probe: new Probe() });
