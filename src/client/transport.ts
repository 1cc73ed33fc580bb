/**
 * One attempt: from the address to the last byte. It decides nothing about the next one.
 *
 * It uses `fetch` and `getReader()` alone: some browsers have no `TextDecoderStream`, and none can
 * iterate a stream everywhere.
 *
 * @module
 */
import { RefusedError } from "../errors.ts";
import { formatCursor } from "../wire/cursor.ts";
import { errorForLog } from "../wire/text.ts";
import { type Address, readAddress, retryAfterOf, topicsOf, urlOf, withQuery } from "./address.ts";
import { readHeaders } from "./headers.ts";
import { notify } from "./notify.ts";
import type { ResolvedOptions } from "./options.ts";
import type { ConnectFailure } from "./records.ts";
import { Session, type SessionOptions } from "./session.ts";

/** What an attempt needs. */
export interface AttemptOptions extends Omit<SessionOptions, "wires" | "maxBufferBytes"> {
  /** The application's options. */
  readonly stream: ResolvedOptions;
  /** How many attempts have failed before it. */
  readonly attempt: number;
  /**
   * Is told the topics of the address, before the request.
   *
   * @returns Whether the cursor may be presented for them.
   */
  covers(topics: ReadonlySet<string>): boolean;
  /** Asked before each read: while its promise is pending nothing is read. */
  ready?(): Promise<void> | undefined;
}

/** An attempt that is under way. */
export interface Attempt {
  /** Gives it up. Nothing is reported afterwards. */
  abort(): void;
}

/** These 4xx pass: asking again later may help. */
const PASSING: readonly number[] = [408, 425, 429];
/** With a fresh ticket these may pass, too. */
const TICKET: readonly number[] = [401, 403, 404, 410];
/** Parameters do not matter, nor does the case. */
const EVENT_STREAM = /^\s*text\/event-stream\s*(?:;|$)/i;

/**
 * Starts an attempt.
 *
 * @param options What it needs.
 * @returns The attempt.
 */
export function startAttempt(options: AttemptOptions): Attempt {
  // One for each attempt: a signal that lived longer would gather the listeners of all of them.
  const controller = new AbortController();
  const { stream } = options;
  let session: Session | null = null;
  let reader: ByteReader | null = null;
  const begin: Begin = (presented, body) => {
    reader = body;
    return session = new Session({
      ...options,
      presented,
      wires: [stream.minWire, stream.maxWire],
      maxBufferBytes: stream.timing.maxBufferBytes,
    });
  };
  void run(options, controller.signal, begin)
    // After a refusal, or a session that broke off, the socket would else stay open.
    .finally(() => controller.abort());
  return {
    abort() {
      session?.abandon();
      // First: Deno at times takes no notice of an abort while a read is pending.
      void reader?.cancel().catch(() => {});
      controller.abort();
    },
  };
}

type ByteReader = ReadableStreamDefaultReader<Uint8Array>;
type Begin = (presented: SessionOptions["presented"], reader: ByteReader) => Session;

async function run(options: AttemptOptions, signal: AbortSignal, begin: Begin): Promise<void> {
  const { stream, attempt, generation } = options;
  const fail = (
    reason: ConnectFailure,
    why: string,
    status: number | null = null,
    final = false,
    retryAfterMs = 0,
  ): void => {
    const detail = why.slice(0, 200);
    if (signal.aborted) return;
    options.report({ type: "failed", generation, reason, status, detail, retryAfterMs, final });
  };
  let address: Address;
  let headers: Headers;
  try {
    address = await readAddress(stream.url, attempt, signal);
    headers = await readHeaders(stream.headers);
  } catch (error) {
    const refused = error instanceof RefusedError;
    return fail("address", describe(error, ""), refused ? error.status : null, refused);
  }
  if (signal.aborted) return;
  const presented = options.covers(topicsOf(address)) ? options.presented : null;
  let response: Response;
  try {
    response = await request(stream, address, headers, presented, signal);
  } catch (error) {
    return fail("network", describe(error, urlOf(address)));
  }
  const { status, body } = response;
  if (signal.aborted) {
    // The fetch took no notice of the signal: its answer would keep a socket.
    await body?.cancel().catch(() => {});
    return;
  }
  if (status !== 200) {
    const ticketed = typeof stream.url === "function";
    let final = isFinal(status, ticketed);
    notify(() => {
      const answer = stream.onRefused?.({ status, final, ticketed });
      if (answer !== undefined) final = answer === "stop";
    });
    return fail(
      "status",
      `answered with ${status}`,
      status,
      final,
      retryAfterOf(response, Date.now()),
    );
  }
  const type = response.headers.get("Content-Type") ?? "";
  if (!EVENT_STREAM.test(type) || body === null) {
    return fail("content_type", `the media type is ${JSON.stringify(type.slice(0, 80))}`, status);
  }
  options.report({ type: "head", generation });
  const reader = body.getReader();
  await read(options, reader, begin(presented, reader));
}

async function request(
  stream: ResolvedOptions,
  address: Address,
  own: Headers,
  presented: SessionOptions["presented"],
  signal: AbortSignal,
): Promise<Response> {
  const cursor = presented === null ? "" : formatCursor(presented);
  let target = address;
  if (stream.presentCursor === "query") {
    target = withQuery(address, { last_event_id: cursor === "" ? null : cursor, lag: "1" });
  }
  const headers = typeof target === "string" ? own : mergeHeaders(target.headers, own);
  headers.set("Accept", "text/event-stream");
  // What was earned stands above a cursor that the application has hidden somewhere.
  headers.delete("Last-Event-ID");
  if (stream.presentCursor === "header") {
    headers.set("SSE-Wire", String(stream.maxWire));
    headers.set("SSE-Lag", "1");
    if (cursor !== "") headers.set("Last-Event-ID", cursor);
  }
  return await stream.fetch(target, {
    headers,
    signal,
    ...(stream.credentials === undefined ? {} : { credentials: stream.credentials }),
    ...NO_STORE,
  });
}

/**
 * A cache has no use for a stream. Chromium's reads tens of megabytes ahead for one that is not read,
 * so that a stalled page would look to the server like one that reads; Firefox's lets a second tab
 * wait for the first one's answer to end. Hosts without a cache do not know the field, and one of
 * them refuses it.
 */
const NO_STORE: RequestInit = typeof Request === "function" && "cache" in Request.prototype
  ? { cache: "no-store" }
  : {};

function mergeHeaders(theirs: Headers, ours: Headers): Headers {
  const merged = new Headers(theirs);
  ours.forEach((value, name) => merged.set(name, value));
  return merged;
}

async function read(
  options: AttemptOptions,
  reader: ByteReader,
  session: Session,
): Promise<void> {
  const { report, generation } = options;
  try {
    while (!session.over) {
      const wait = options.ready?.();
      if (wait !== undefined) {
        report({ type: "paused", generation, on: true });
        await wait;
        if (session.over) break;
        report({ type: "paused", generation, on: false });
      }
      const { done, value } = await reader.read();
      if (session.over) break;
      if (done) session.end("");
      else session.feed(value);
    }
  } catch (error) {
    session.end(describe(error, ""));
  }
  // It rejects when the stream has failed: that has been reported.
  await reader.cancel().catch(() => {});
}

/**
 * What was thrown, as far as it may be shown: platforms repeat the address, in which there may be a
 * ticket or a password. Node says no more than that a fetch failed; why stands in the cause.
 */
function describe(error: unknown, url: string): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const text = errorForLog(error) + (cause === undefined ? "" : ` (${errorForLog(cause)})`);
  return (url === "" ? text : text.replaceAll(url, "the address"))
    .replace(/[?#][^\s'")]*/g, "?…")
    .replace(/\/\/[^\s/]*@/g, "//…@");
}

function isFinal(status: number, ticketed: boolean): boolean {
  if (status === 204) return true;
  if (status < 400 || status > 499 || PASSING.includes(status)) return false;
  return !(ticketed && TICKET.includes(status));
}
