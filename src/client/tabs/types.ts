/**
 * The contract of a tab that shares its profile's one stream.
 *
 * @module
 */
import type { RemovedSubject } from "../digest_answer.ts";
import type { LifecycleRecord } from "../records.ts";
import type { TimingConfig } from "../timing.ts";
import type {
  Attempt,
  ClientClock,
  Frame,
  HeadersSource,
  OnlineSource,
  RevalidateContext,
  StreamState,
  Subject,
  VisibilitySource,
} from "../types.ts";
import type { HeldVersion } from "../versions.ts";
import type { WorkerHostOptions } from "../worker/types.ts";

/** The part of a `MessagePort` that is used. */
export interface MessagePortLike {
  /** Sends. */
  postMessage(message: unknown): void;
  /** Listens. */
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  /** Lets messages in. */
  start(): void;
  /** Ends it. */
  close(): void;
}

/** The part of a `SharedWorker` that is used. */
export interface SharedWorkerLike {
  /** The port to the worker. */
  readonly port: MessagePortLike;
  /** Listens. */
  addEventListener(type: "error", listener: () => void): void;
}

/** What a tab's revalidation is told. */
export interface TabRevalidateContext extends RevalidateContext {
  /**
   * What the host's digest found to have changed; `null` when no digest speaks for this tab: then
   * fetch everything, or ask a digest of your own.
   */
  readonly changed: readonly HeldVersion[] | null;
  /** What the host's digest found to be gone; `null` when no digest speaks for this tab. */
  readonly removed: readonly RemovedSubject[] | null;
}

/**
 * Who carries this tab's stream.
 *
 * - `worker`: the profile's SharedWorker.
 * - `leader`: this tab, for all tabs of the profile.
 * - `follower`: another tab.
 * - `own`: this tab, for itself alone.
 */
export type TabMode = "worker" | "leader" | "follower" | "own";

/** Options of {@linkcode attachToWorker}. */
export interface TabOptions {
  /**
   * Starts the profile's worker: `() => new SharedWorker(url, { type: "module" })`. Called again when
   * the worker is lost. Without it, or when it returns `null` or throws, as where there is no
   * SharedWorker, the tabs elect one among them.
   */
  readonly worker?: () => SharedWorkerLike | null;
  /**
   * The name under which the tabs of one profile find each other where there is no worker; the
   * address, when it is always the same. Where `url` is a function and there is no name, each tab has
   * a stream of its own then.
   */
  readonly name?: string;
  /** Where the stream is. All tabs of one profile must mean the same stream. */
  readonly url: string | URL | ((attempt: Attempt) => string | URL | Promise<string | URL>);
  /** More request headers, asked for at each request; none. */
  readonly headers?: HeadersSource;
  /** The fetch's credentials mode, where this tab carries the stream; the platform's default. */
  readonly credentials?: RequestCredentials;
  /**
   * Up to where the state goes that this page begins with, when it was kept with that state in one
   * store; none. Where the stream can go on from there, nothing is fetched; else all is, as ever.
   */
  readonly cursor?: string;
  /** Called for each frame of the profile's stream, in order, exactly once. */
  onFrame(frame: Frame): void;
  /**
   * Brings this tab's state up to date; frames are held meanwhile. Called with all other tabs when
   * the stream asks for it, and for this tab alone when it is new, or has missed something.
   */
  revalidate?(context: TabRevalidateContext): void | Promise<void>;
  /** Called for each record of the profile's stream, and of this tab. */
  onLifecycle?(record: LifecycleRecord): void;
  /** The `SSE-Client` header of the profile's stream; none. The last one that differs wins. */
  readonly tag?: string;
  /** The options of the host, where this tab carries the stream: those of the worker's script. */
  readonly host?: WorkerHostOptions;
  /** Times and bounds; those of `timing.json`. */
  readonly timing?: Partial<TimingConfig>;
  /** Time and chance; the platform's. */
  readonly clock?: ClientClock;
  /** Whether anybody sees the page; the document's. */
  readonly visibility?: VisibilitySource;
  /** Whether there is a network; the platform's. */
  readonly online?: OnlineSource;
}

/** A tab on its profile's stream. */
export interface TabAttachment {
  /** Where the profile's stream stands, as far as this tab has heard; `stopped` once detached. */
  state(): StreamState;
  /** Up to where this tab has got everything; `""` when nothing. */
  cursor(): string;
  /** Who carries the stream. */
  mode(): TabMode;
  /**
   * Connects the profile's stream anew, and starts it when it is stopped.
   *
   * @param options `resetCursor`: forgets the cursor, so that everything is revalidated; no.
   */
  reconnect(options?: { readonly resetCursor?: boolean }): void;
  /** Says that credentials were renewed: connects unless the stream is open. */
  credentialsChanged(): void;
  /**
   * Notes in the profile's version map which version of a subject this tab holds.
   *
   * @param subject The subject.
   * @param version Its version.
   * @param epoch The epoch the version is stamped with; the map's own when it is not known.
   */
  observe(subject: Subject, version: string, epoch?: string): void;
  /**
   * Sets the `SSE-Client` header of the profile's stream. One that differs reconnects it, once.
   *
   * @param tag The tag; `""` changes nothing.
   */
  setTag(tag: string): void;
  /**
   * Leaves for good.
   *
   * @param reason `"logout"` stops the profile's stream for every tab, until a tab reconnects it or a
   * new one attaches.
   */
  detach(reason?: "logout"): void;
}
