/**
 * The contract of a worker that holds a profile's one stream.
 *
 * @module
 */
import type { DigestResult } from "../digest_answer.ts";
import type { LifecycleRecord } from "../records.ts";
import type {
  HeadersSource,
  RevalidateContext,
  StreamOptions,
  StreamState,
  StreamUrl,
} from "../types.ts";
import type { VersionMap } from "../versions.ts";
import type { MessagePortLike } from "../tabs/types.ts";

/** What a digest found, for every tab: the lists of a {@linkcode DigestResult}. */
export type TabFindings = Pick<DigestResult, "changed" | "removed">;

/** The attached tabs, to a host's own revalidation. */
export interface HostTabs {
  /**
   * Runs the `revalidate` of every attached tab. A tab that leaves or expires meanwhile does not
   * count any more. One whose own revalidation rejects has answered: it owes another, which it runs
   * after the next hello, and the other tabs are not asked again for its sake.
   *
   * @param context What the stream said; `{ ...context, full: true }` when the digest says that
   * everything must be fetched.
   * @param findings What the digest found; without it no tab is told of any.
   * @returns Settles when every tab has answered.
   * @throws {unknown} The reason of the context's signal, when it aborts before.
   */
  run(context: RevalidateContext, findings?: TabFindings): Promise<void>;
}

/**
 * Options of {@linkcode createWorkerHost}: those of a stream, without what only a page can know.
 *
 * There is no `persist`: a tab that is new fetches everything anyway, and one that has been there
 * brings its cursor.
 */
export interface WorkerHostOptions extends
  Omit<
    StreamOptions,
    | "url"
    | "headers"
    | "onFrame"
    | "revalidate"
    | "visibility"
    | "online"
    | "persist"
    | "subscribeUrl"
    | "unsubscribeUrl"
  > {
  /**
   * Where the stream is. Without it the tabs say so: a visible one is asked, and has 5 s, then the
   * next one is.
   */
  readonly url?: StreamUrl;
  /** More request headers. Without them the tabs are asked, as for `url`. */
  readonly headers?: HeadersSource;
  /** The versions of what the tabs hold together; their `observe` goes there. */
  readonly versions?: VersionMap;
  /**
   * Brings the tabs up to date: one digest for all of them, then {@linkcode HostTabs.run}. Without it
   * each tab's own `revalidate` is called.
   */
  revalidate?(context: RevalidateContext, tabs: HostTabs): void | Promise<void>;
  /** Called for each record, as each tab's own `onLifecycle` is. */
  onLifecycle?(record: LifecycleRecord): void;
}

/** A profile's one stream, and the tabs on it. */
export interface WorkerHost {
  /**
   * Takes a port to a tab, where the worker's global scope does not bring it.
   *
   * @param port The port.
   */
  connect(port: MessagePortLike): void;
  /** Where the stream stands. */
  state(): StreamState;
  /** How many tabs are attached. */
  tabs(): number;
  /** Ends the stream, and answers no tab any more. */
  stop(): void;
}
