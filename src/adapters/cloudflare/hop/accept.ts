/**
 * A request for a stream over the hop, on the object's side: refuse, or judge and open it.
 *
 * @module
 */
import { TopicError } from "../../../errors.ts";
import { checkExpiry } from "../../../hub/expirations.ts";
import { helloOf, hookOf } from "../../../hub/greeting.ts";
import { checkHistory } from "../../../hub/late_joiner.ts";
import { randomHex } from "../../../hub/log.ts";
import { refusal } from "../../../hub/refusal.ts";
import { checkedTag, declaresLag, presentedCursor } from "../../../hub/stream_request.ts";
import { journalTopics, topicNames, topicsSince } from "../../../hub/topics.ts";
import type { HubState, ServeOptions } from "../../../hub/types.ts";
import { helloFrame } from "../../../wire/control.ts";
import { encodeRetry, joinBytes } from "../../../wire/frame.ts";
import type { Hello } from "../../../wire/hello.ts";
import { checkTopics } from "../../../wire/topic.ts";
import type { HopConnection } from "./connection.ts";
import type { HopSaved } from "./types.ts";
import type { Hops } from "./hops.ts";
import { beginningOf, judgeByJournal } from "./past.ts";
import { socketPair } from "./socket.ts";
import type { HopRow } from "./table.ts";
import type { Begin, Resume } from "./wire.ts";

/** What a Worker is told of a stream that cannot go on: its client is to be judged anew. */
const GONE = 410;

/**
 * Opens a stream over the hop.
 *
 * @param hops The object's hop.
 * @param hub What is asked of the hub: whether it takes newcomers, and how many it has.
 * @param request The client's request.
 * @param options What the connection listens to, and its hooks.
 * @returns 101 with the Worker's end of a socket, or a refusal.
 * @throws {JournalError} When the journal cannot be asked.
 */
export async function acceptNew(
  hops: Hops,
  hub: { readonly state: HubState; readonly clientCount: number },
  request: Request,
  options: ServeOptions,
): Promise<Response> {
  const { settings, journal } = hops;
  let names: readonly string[] | null;
  try {
    names = checkTopics(options.topics);
  } catch (error) {
    if (error instanceof TopicError) return refusal(400, "sse_topics", error.message);
    throw error;
  }
  checkHistory(options.history);
  const expiresAt = checkExpiry(options.expiresAt);
  const now = settings.clock.now();
  const refused = unavailable(hops, hub);
  if (refused !== null) return refused;
  if (expiresAt <= now) {
    return refusal(403, "sse_expired", "The authority of this stream has ended");
  }
  const judged = await judgeByJournal(
    journal,
    presentedCursor(request),
    journalTopics(topicsSince(names)),
    settings.replyMaxEvents,
  );
  // Others came meanwhile, or the hub has shut down: whoever comes after that would never be told.
  const refusedNow = unavailable(hops, hub);
  if (refusedNow !== null) return refusedNow;
  const { judgement, window } = judged;
  const row: HopRow = {
    connection: randomHex(16),
    user: options.user ?? "",
    tag: checkedTag(options.clientTag, settings.logger),
    topics: topicsSince(names, judgement.position),
    lag: settings.slow === "lag" && declaresLag(request),
    since: judgement.position,
    pasts: 0,
    at: now,
    expiresAt,
  };
  hops.table.add(row);
  const { 0: theirs, 1: ours } = socketPair();
  const connection = hops.accept(ours, row, savedAt(row, window.epoch, judgement.position, 0));
  const { epoch, floor, head } = window;
  const position = { epoch, floor: floor > head ? 0 : floor, head };
  const mayRepair = options.repair !== undefined;
  const hello = helloOf(settings, judgement.verdict, position, row.connection, mayRepair);
  recallAll(hops, connection, options, hello);
  const hook = hookOf(
    settings,
    options,
    topicNames(row.topics),
    hello,
    (frame) => connection.write(frame),
  );
  const jitter = Math.floor(Math.random() * (settings.reconnectJitterMs + 1));
  const first = [encodeRetry(settings.reconnectDelayMs + jitter), helloFrame(hello)];
  connection.begin(beginOf(hops, row, window.epoch), joinBytes(first), hook, window.head);
  hops.tell(connection, { kind: "connected", verdict: judgement.verdict });
  return switching(theirs);
}

/**
 * Lets a stream go on whose socket broke off.
 *
 * @param hops The object's hop.
 * @param hub What is asked of the hub: whether it lets anybody go on.
 * @param resume Which, and from where.
 * @returns 101 with the Worker's end of a socket; 410 when not everything that is its could be sent.
 * @throws {JournalError} When the journal cannot be asked.
 */
export async function acceptAgain(
  hops: Hops,
  hub: { readonly state: HubState },
  resume: Resume,
): Promise<Response> {
  const gone = (): Response => refusal(GONE, "sse_gone", "The stream cannot go on");
  const { connection: id } = resume;
  const find = (): HopRow | undefined =>
    isLeaving(hub) ? undefined : hops.find(id)?.row ?? hops.table.get(id);
  const known = find();
  if (known === undefined) return gone();
  const { journal, settings } = hops;
  const { judgement, window } = await judgeByJournal(
    journal,
    resume.after,
    journalTopics(known.topics),
    settings.replyMaxEvents,
  );
  // It may have been ended meanwhile, or the hub with it.
  const row = find();
  if (row === undefined) return gone();
  if (
    judgement.verdict !== "resumed" || row.pasts !== resume.pasts ||
    row.expiresAt <= settings.clock.now()
  ) {
    hops.find(id)?.leave(false);
    hops.table.remove(id);
    return gone();
  }
  const { 0: theirs, 1: ours } = socketPair();
  const { epoch } = window;
  const saved = savedAt(row, epoch, judgement.position, resume.waiting);
  const connection = hops.accept(ours, row, saved);
  hops.table.find(row.connection);
  connection.goOn(beginOf(hops, row, epoch));
  return switching(theirs);
}

function unavailable(
  { settings, maxClients }: Hops,
  hub: { readonly state: HubState; readonly clientCount: number },
): Response | null {
  const leaving = isLeaving(hub);
  if (!leaving && hub.clientCount < maxClients) return null;
  const seconds = Math.max(1, Math.ceil(settings.reconnectDelayMs / 1000));
  const why = leaving ? "The hub is leaving" : "The hub has no place left";
  return refusal(503, "sse_unavailable", why, { "Retry-After": String(seconds) });
}

function isLeaving({ state }: { readonly state: HubState }): boolean {
  return state === "draining" || state === "stopped";
}

function savedAt(row: HopRow, epoch: string, position: number, sent: number): HopSaved {
  const { connection } = row;
  const stands = { epoch, position, sent, acked: 0, live: false, opening: false, histories: [] };
  return { tidemark: 1, connection, ...stands };
}

function beginOf({ settings }: Hops, { connection, expiresAt }: HopRow, epoch: string): Begin {
  const { keepaliveMs, keepaliveEvent, writeTimeoutMs } = settings;
  const end = Number.isFinite(expiresAt) ? expiresAt : null;
  const times = { keepaliveMs, keepaliveEvent, writeTimeoutMs, expiresAt: end };
  return { type: "begin", connection, epoch, ...times };
}

function switching(webSocket: unknown): Response {
  // What a Workers runtime takes beside the Web's own.
  const init: ResponseInit & { webSocket: unknown } = { status: 101, webSocket };
  return new Response(null, init);
}

/** What the topics said before, after any verdict but `resumed`. */
function recallAll(
  { journal, settings }: Hops,
  connection: HopConnection,
  { history }: ServeOptions,
  { resumed, head }: Hello,
): void {
  if (history === undefined || resumed) return;
  const now = settings.clock.now();
  for (const topic of topicNames(connection.row.topics)) {
    const past = connection.recall(topic, head);
    beginningOf(journal, topic, history, head, now)
      .then((after) => past.start(after), () => connection.leave(false));
  }
}
