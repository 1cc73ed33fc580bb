/**
 * The client half: a stream that resumes from an exact cursor, in a page, a worker, Deno, Bun and Node.
 *
 * A {@linkcode Stream} owns its connection over `fetch`. It presents the cursor it holds, and hears
 * in the hello whether it was honoured; where not, it asks the application to bring its state up to
 * date, and holds what arrives meanwhile. It notices silence, sleeps while nobody sees the page, and
 * waits longer after each failure.
 *
 * @example
 * ```ts no-run
 * import { createStream } from "@tidemark/sse/client";
 *
 * const stream = createStream({
 *   url: "/events",
 *   onFrame: ({ type, data }) => console.log(type, JSON.parse(data)),
 *   revalidate: async ({ signal }) => console.log(await (await fetch("/state", { signal })).json()),
 *   onLifecycle: (record) => console.debug(record),
 * });
 * stream.start();
 * ```
 *
 * @module
 */
export {
  ConfigError,
  CursorError,
  DigestStatusError,
  type ErrorCode,
  GapError,
  ProtocolError,
  RefusedError,
  SubscribeError,
  TidemarkError,
} from "./src/errors.ts";

export { createStream } from "./src/client/stream.ts";
export {
  createDigestClient,
  type DigestClient,
  type DigestClientOptions,
} from "./src/client/digest.ts";
export type { DigestResult, RemovedSubject } from "./src/client/digest_answer.ts";
export {
  createEventSource,
  type EventSourceOptions,
  ResumingEventSource,
  type ResumingEventSourceEventMap,
  type VerdictDetail,
} from "./src/client/event_source.ts";
export { frames, type FramesOptions, type Gap } from "./src/client/frames.ts";
export type {
  AliveOptions,
  Attempt,
  ClientClock,
  Fetch,
  Frame,
  HeadersSource,
  HistoryRequest,
  LoadedCursor,
  OnlineSource,
  Persistence,
  Refusal,
  RevalidateCause,
  RevalidateContext,
  SavedCursor,
  Stream,
  StreamOptions,
  StreamState,
  StreamUrl,
  Subject,
  Subscribed,
  VisibilitySignal,
  VisibilitySource,
} from "./src/client/types.ts";
export type {
  BadCursor,
  ConnectFailure,
  Disconnect,
  LifecycleRecord,
} from "./src/client/records.ts";
export type { TimingConfig } from "./src/client/timing.ts";
export {
  createVersionMap,
  type HeldVersion,
  type StaleListener,
  type VersionMap,
  type VersionSnapshot,
} from "./src/client/versions.ts";

export type { Lag } from "./src/wire/control.ts";
export { type Cursor, formatCursor, parseCursor } from "./src/wire/cursor.ts";
export type { Hello, Verdict } from "./src/wire/hello.ts";
export { MAX_FRAME_BYTES, MAX_OFFSET, WIRE } from "./src/wire/timing.ts";
