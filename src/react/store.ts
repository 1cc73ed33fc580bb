/**
 * What a component holds of a stream: the state that its frames make, and who is told of a change.
 * Knows nothing of React.
 *
 * @module
 */
import { createStream } from "../client/stream.ts";
import type {
  Frame,
  RevalidateContext,
  Stream,
  StreamOptions,
  StreamState,
} from "../client/types.ts";

/** Options of `useStream`: a stream's, and what becomes of its frames. */
export interface UseStreamOptions<S> extends Omit<StreamOptions, "onFrame" | "revalidate"> {
  /** The state before the first frame. */
  readonly initial: S;
  /**
   * Makes the next state of the last one and a frame; the same state for a frame that changes
   * nothing. It must not change the state that it is given: React compares.
   */
  reduce(state: S, frame: Frame): S;
  /**
   * Fetches the state anew: after a hello that did not resume, after a wake, and after lost frames.
   * What it returns, or resolves to, becomes the state, and the frames that came meanwhile are
   * reduced into it; `undefined` leaves the state as it is. Without this function what was lost stays
   * lost.
   */
  revalidate?(context: RevalidateContext, state: S): S | undefined | Promise<S | undefined>;
  /**
   * What makes another stream, with a state of its own, when it changes; the `url`, and nothing where
   * that is a function.
   */
  readonly key?: string;
}

/** A stream and its state, for as long as a component is mounted. */
export interface StreamStore<S> {
  /** The stream, for `reconnect()`, `subscribe()` and the like. The component starts and stops it. */
  readonly stream: Stream;
  /** What the frames were reduced to. */
  readonly value: () => S;
  /** What it is before the first frame. */
  readonly initial: () => S;
  /** Where the stream stands. */
  readonly state: () => StreamState;
  /** Calls back after each change of either, until the returned function is called. */
  readonly subscribe: (listener: () => void) => () => void;
}

/** What the hooks do with a store besides. */
export interface OwnedStore<S> extends StreamStore<S> {
  /** What it was made for. */
  readonly key: string;
  /** Takes the functions, and the headers, of the newest render. */
  update(options: UseStreamOptions<S>): void;
  /** Connects, until the returned function is called. */
  connect(): () => void;
}

/**
 * What tells one stream from another.
 *
 * @param options The options.
 * @returns The key.
 */
export function keyOf({ key, url }: Pick<UseStreamOptions<unknown>, "key" | "url">): string {
  return key ?? (typeof url === "function" ? "" : String(url));
}

/**
 * Makes a store. It does nothing until {@linkcode OwnedStore.connect}: a render that React throws away
 * leaves nothing behind.
 *
 * @param options The options of the first render.
 * @returns The store.
 */
export function createStore<S>(options: UseStreamOptions<S>): OwnedStore<S> {
  let latest = options;
  let value = options.initial;
  let state: StreamState = "stopped";
  const listeners = new Set<() => void>();
  const change = (next: S): void => {
    if (Object.is(value, next)) return;
    value = next;
    tell();
  };
  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const { url, revalidate } = options;
  const stream = createStream({
    ...options,
    url: typeof url !== "function" ? url : (attempt) => {
      const { url: newest } = latest;
      return typeof newest === "function" ? newest(attempt) : newest;
    },
    headers() {
      const { headers = {} } = latest;
      return typeof headers === "function" ? headers() : headers;
    },
    revalidate: revalidate === undefined ? undefined : async (context) => {
      const next = await latest.revalidate?.(context, value);
      // One that ran over its time was given up: what it brings is old.
      if (next !== undefined && !context.signal.aborted) change(next);
    },
    onFrame: (frame) => change(latest.reduce(value, frame)),
    onLifecycle(record) {
      if (record.kind === "state") {
        state = record.to;
        tell();
      }
      latest.onLifecycle?.(record);
    },
    onLag: (lag) => latest.onLag?.(lag),
    onRefused: (refusal) => latest.onRefused?.(refusal),
  });
  return {
    stream,
    initial: () => options.initial,
    key: keyOf(options),
    value: () => value,
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    update(next) {
      latest = next;
    },
    connect() {
      let wanted = true;
      // React's strict mode mounts twice in one turn: the first of the two must not reach a server.
      queueMicrotask(() => {
        if (wanted) stream.start();
      });
      return () => {
        wanted = false;
        stream.stop();
      };
    },
  };
}
