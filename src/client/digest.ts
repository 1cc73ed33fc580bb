/**
 * The digest client: asks a server which of the versions that the application holds are out of date.
 *
 * @module
 */
import { DigestStatusError } from "../errors.ts";
import { DIGEST_MAX_SUBJECTS } from "../wire/timing.ts";
import { readText } from "./body.ts";
import { checkWhole, MAX_TIMER_MS } from "./bounds.ts";
import { withDeadline } from "./deadline.ts";
import {
  type DigestResult,
  joinAnswers,
  maxAnswerBytes,
  mustRefetchAll,
  readAnswer,
} from "./digest_answer.ts";
import { type Batch, cutBatches } from "./digest_batches.ts";
import { notify } from "./notify.ts";
import { post } from "./post.ts";
import type { LifecycleRecord } from "./records.ts";
import { DEFAULT_TIMING } from "./timing.ts";
import type { Fetch, HeadersSource } from "./types.ts";
import type { VersionSnapshot } from "./versions.ts";

export type { DigestResult, RemovedSubject } from "./digest_answer.ts";

/** Options of {@linkcode createDigestClient}. */
export interface DigestClientOptions {
  /** Where the digest is posted. */
  readonly url: string | URL;
  /** More request headers, read afresh for each request; none. */
  readonly headers?: HeadersSource;
  /** The fetch's credentials mode; the platform's default, `same-origin`. */
  readonly credentials?: RequestCredentials;
  /** The fetch to use; the platform's. */
  readonly fetch?: Fetch;
  /** How long one request may take, its headers and the whole of its answer included; 10 000 ms. */
  readonly timeoutMs?: number;
  /** The most subjects of one request; 256. More only if the server's own bound is as high. */
  readonly maxSubjects?: number;
  /**
   * Called with a `digest` record for each check that was answered. What it throws is reported to the
   * platform.
   */
  onLifecycle?(record: LifecycleRecord): void;
}

/** Asks a server what has changed. It keeps nothing: several checks may run at once. */
export interface DigestClient {
  /**
   * Checks versions: in requests of at most 256 subjects and 512 KiB, one after another.
   *
   * It stops at the first answer that says that everything must be fetched again. An answer that does
   * not fit its request, or is not of the epoch asked about, counts as such an answer. Where nothing
   * is held there is one request all the same: so every result is the server's own word, and a client
   * that is no longer let in learns it.
   *
   * @param snapshot What is held, from {@linkcode VersionMap.snapshot}.
   * @param signal Gives the check up.
   * @returns What has changed. The map is left as it is: note what you fetched, forget what was
   * removed.
   * @throws {DigestStatusError} When a status is not 200.
   * @throws {TypeError} When the snapshot holds what no version map takes, a header cannot be sent,
   * or the platform could not reach the server.
   * @throws {DOMException} `TimeoutError` when a request took too long; the signal's reason, an
   * `AbortError` by default, when it aborted.
   */
  check(snapshot: VersionSnapshot, signal?: AbortSignal): Promise<DigestResult>;
}

/**
 * Makes a digest client. Nothing is sent before a check.
 *
 * @param options Where to ask, and how.
 * @returns The client.
 * @throws {ConfigError} When `timeoutMs` or `maxSubjects` is no whole number of at least 1.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { createDigestClient, createVersionMap } from "@tidemark/sse/client";
 *
 * // A server, here in the same process.
 * const current = new Map([["c1", "8"], ["c2", "3"]]);
 * const hub = createHub();
 * const handler = hub.digestHandler((held) =>
 *   held.map(({ kind, ref }) => {
 *     const version = current.get(ref);
 *     return { kind, ref, version: version ?? "", status: version === undefined ? "gone" : "" };
 *   })
 * );
 *
 * const versions = createVersionMap();
 * versions.bind(hub.position().epoch);
 * for (const ref of ["c1", "c2", "c3"]) versions.observe({ kind: "chat", ref }, "3");
 *
 * const digest = createDigestClient({
 *   url: "http://localhost/digest",
 *   fetch: (url, init) => handler(new Request(url, init)),
 * });
 * const { mustRefetch, changed, removed } = await digest.check(versions.snapshot());
 * assertEquals(mustRefetch, false);
 * assertEquals(changed, [{ kind: "chat", ref: "c1", version: "8" }]);
 * assertEquals(removed, [{ kind: "chat", ref: "c3", reason: "gone" }]);
 * await hub.shutdown();
 * ```
 */
export function createDigestClient(options: DigestClientOptions): DigestClient {
  const { timeoutMs = DEFAULT_TIMING.digestTimeoutMs, maxSubjects = DIGEST_MAX_SUBJECTS } = options;
  checkWhole("timeoutMs", timeoutMs, 1, MAX_TIMER_MS);
  checkWhole("maxSubjects", maxSubjects, 1);
  return {
    async check(snapshot, signal) {
      const answers: DigestResult[] = [];
      for (const batch of cutBatches(snapshot, maxSubjects)) {
        const ask = (inner: AbortSignal): Promise<DigestResult> => askBatch(options, batch, inner);
        const answer = await withDeadline(timeoutMs, signal, ask);
        answers.push(answer);
        if (answer.mustRefetch) break;
      }
      const found = joinAnswers(answers);
      const { mustRefetch, changed: { length: changed }, removed: { length: removed } } = found;
      notify(() => options.onLifecycle?.({ kind: "digest", changed, removed, mustRefetch }));
      return found;
    },
  };
}

/** Asks about one batch. */
async function askBatch(
  options: DigestClientOptions,
  batch: Batch,
  signal: AbortSignal,
): Promise<DigestResult> {
  const { url, headers, credentials, fetch: send = (input, init) => fetch(input, init) } = options;
  const response = await post({ headers, credentials, fetch: send }, url, signal, batch.body);
  if (signal.aborted || response.status !== 200) {
    // Left alone, an unread body keeps its socket.
    response.body?.cancel().catch(() => {});
    signal.throwIfAborted();
    throw new DigestStatusError(response.status);
  }
  const text = await readText(response, maxAnswerBytes(batch), signal);
  return (text === null ? null : readAnswer(text, batch)) ?? mustRefetchAll();
}
