/**
 * Joining a topic late: subscribe first, then replay, so that nothing falls between the two.
 *
 * @module
 */
import { TopicError } from "../errors.ts";
import { JournalError } from "../errors/journal.ts";
import { readCursor } from "../wire/cursor.ts";
import { checkTopic, MAX_TOPICS } from "../wire/topic.ts";
import type { Backlog } from "./backlog.ts";
import type { Connection } from "./connection.ts";
import { errorForLog } from "../wire/text.ts";
import { Echoes } from "./echoes.ts";
import { History, PastFrames } from "./history.ts";
import { type Court, judgeCursor, scopeOfTopic } from "./judge.ts";
import { Pages } from "./pages.ts";
import { Recall } from "./recall.ts";
import type { Frame } from "./ring.ts";
import type { Roster } from "./roster.ts";
import type { HistoryRequest, RecalledEvent, SubscribeOptions, Subscription } from "./types.ts";

/** The past of a topic, as it stood when the topic was subscribed. */
interface Past {
  readonly topic: string;
  /** Up to here it is read from the journal; 0 where there is none. */
  readonly behind: number;
  /** What stands after that: references, for the ring may go on without. */
  readonly frames: readonly Frame[];
}

/**
 * How much of a past is given. Both reach up to its end, so that one of them is the whole of both.
 */
interface Wanted {
  /** As much as was asked for. */
  readonly request: HistoryRequest | undefined;
  /** And whatever follows this offset, for the verdict was that it is not lost; else `Infinity`. */
  readonly after: number;
}

/**
 * Lets a connection listen to one more topic, and gives it what the topic said before.
 *
 * @param roster The hub's connections.
 * @param id The connection's id.
 * @param topic The topic.
 * @param options What it is given of the past.
 * @returns How the cursor was judged, and the offset after which the topic is received live; `null`
 * when there is no such connection.
 * @throws {TopicError} When the topic is outside the grammar, or one too many.
 * @throws {JournalError} When the journal did not answer. The topic is subscribed all the same: when it
 * is asked for again, nothing is missing in between.
 */
export async function subscribe(
  roster: Roster,
  id: string,
  topic: string,
  options: SubscribeOptions,
): Promise<Subscription | null> {
  checkTopic(topic);
  const request = checkHistory(options.history);
  const after = options.after ?? "";
  if (typeof after !== "string") throw new TypeError("Cannot use after: it must be a cursor");
  const connection = roster.find(id);
  if (connection === undefined || !connection.open) return null;
  if (connection.feed.histories >= MAX_TOPICS) {
    throw new TopicError(
      `${MAX_TOPICS} histories wait on the connection already, which is the most`,
    );
  }
  const events = options.recall?.();
  const upTo = join(roster, connection, topic);
  if (events !== undefined) {
    recall(roster, connection, topic, events);
    return { verdict: "fresh", head: upTo };
  }
  if (request === undefined && after === "") return { verdict: "fresh", head: upTo };

  const history = new History(topic);
  const past = pastOf(roster, topic, upTo);
  connection.feed.recall(history);
  let kept = false;
  try {
    const judged = await judgeCursor(roster, after, scopeOfTopic(roster.log, topic));
    const { verdict } = answered(typeof judged === "function" ? judged() : judged);
    const cursor = verdict === "resumed" ? readCursor(after) : null;
    if (request !== undefined || cursor !== null) {
      await start(roster, connection, history, past, {
        request,
        after: cursor?.offset ?? Infinity,
      });
      kept = true;
    }
    return { verdict, head: upTo };
  } finally {
    if (!kept) connection.feed.forgo(history);
    connection.flush();
  }
}

/**
 * Lets a connection listen to a topic no longer.
 *
 * @param roster The hub's connections.
 * @param id The connection's id.
 * @param topic The topic.
 * @returns Whether it did listen to it.
 */
export function unsubscribe(roster: Roster, id: string, topic: string): boolean {
  const connection = roster.find(id);
  if (!connection?.identity.topics?.delete(topic)) return false;
  roster.fanout.leave(connection, topic);
  connection.feed.unsubscribed(topic);
  connection.flush();
  return true;
}

/**
 * The histories that a connection asked for as it connected, not begun yet.
 *
 * @param roster The hub's connections.
 * @param topics The topics.
 * @param request How much of each.
 * @returns The histories, and what begins them once the connection has.
 */
export function historiesAtConnect(
  roster: Roster,
  topics: readonly string[],
  request: HistoryRequest,
): { readonly histories: readonly History[]; begin(connection: Connection): void } {
  const pairs = topics.map((topic) => {
    return [new History(topic), pastOf(roster, topic, roster.log.head)] as const;
  });
  return {
    histories: pairs.map(([history]) => history),
    begin(connection) {
      for (const [history, past] of pairs) {
        start(roster, connection, history, past, { request, after: Infinity })
          .catch(() => connection.turnAway());
      }
    },
  };
}

/** Subscribes, and says up to which offset the past reaches: what follows comes live. */
function join(roster: Roster, connection: Connection, topic: string): number {
  const { topics } = connection.identity;
  // One that receives everything has received this topic since it connected.
  if (topics === null) return connection.judgement?.position ?? roster.log.head;
  const since = topics.get(topic);
  if (since !== undefined) return since;
  if (topics.size >= MAX_TOPICS) {
    throw new TopicError(`the connection has ${topics.size}, the most is ${MAX_TOPICS}`);
  }
  topics.set(topic, roster.log.head);
  roster.fanout.join(connection, topic);
  return roster.log.head;
}

/** Gives what the application recalls from a log of its own. */
function recall(
  { settings }: Roster,
  connection: Connection,
  topic: string,
  events: AsyncIterable<RecalledEvent>,
): void {
  const echoes = new Echoes();
  const history = new History(topic, echoes);
  const failed = (error: unknown): void =>
    settings.logger.error(`A history could not be recalled: ${errorForLog(error)}`);
  const wake = (): void => connection.flush();
  history.start(new Recall(events, settings.keepaliveEvent, echoes, failed, wake));
  connection.feed.recall(history);
  connection.flush();
}

function pastOf({ log, backlog }: Court, topic: string, upTo: number): Past {
  const behind = backlog === null ? 0 : Math.min(log.evictedOf(topic), upTo);
  const frames = log.ofTopic(topic).filter(({ offset }) => offset > behind && offset <= upTo);
  return { topic, behind, frames };
}

/** Begins a history. */
async function start(
  { log, backlog, settings }: Court,
  connection: Connection,
  history: History,
  past: Past,
  wanted: Wanted,
): Promise<void> {
  const { epoch } = log;
  const { topic, behind } = past;
  const now = settings.clock.now();
  const frames = past.frames.filter(isWanted(past, wanted, now));
  const after = backlog === null ? behind : await beginning(backlog, past, frames, wanted, now);
  // Of another epoch by now: the connection is being sent away.
  if (log.epoch !== epoch) return;
  const range = { after, upTo: behind, topics: [topic] };
  const pages = backlog === null || after >= behind
    ? null
    : new Pages(backlog, epoch, range, () => connection.flush());
  // What follows a cursor that the ring covers is not read from the journal: no hole there concerns it.
  const wholeAfter = wanted.after < behind ? wanted.after : Infinity;
  history.start(new PastFrames(log, pages, frames, wholeAfter));
  connection.flush();
}

function isWanted(
  { frames }: Past,
  { request, after }: Wanted,
  now: number,
): (frame: Frame) => boolean {
  if (request === undefined) return ({ offset }) => offset > after;
  if (request === true) return () => true;
  if ("last" in request) {
    const first = frames[frames.length - request.last]?.offset ?? 0;
    return ({ offset }) => offset > after || (request.last > 0 && offset >= first);
  }
  const oldest = now - request.sinceMs;
  return ({ offset, at }) => offset > after || at >= oldest;
}

/** The offset in the journal after which a history begins; that of its end when the ring has it all. */
async function beginning(
  backlog: Backlog,
  past: Past,
  frames: readonly Frame[],
  { request, after }: Wanted,
  now: number,
): Promise<number> {
  const { topic, behind } = past;
  if (behind === 0 || frames.length < past.frames.length) return behind;
  if (request === undefined) return after;
  if (request === true) return 0;
  const topics = [topic];
  if ("last" in request) {
    const owed = request.last - frames.length;
    if (owed <= 0) return Math.min(behind, after);
    // The newest offset after which enough of them stand.
    const begins = await bisect(behind, async (from) => {
      const range = { after: from, upTo: behind, topics };
      return answered(await backlog.measure(range, owed)).count >= owed;
    });
    return Math.min(begins, after);
  }
  const startsTooOld = async (from: number): Promise<boolean> => {
    const range = { after: from, upTo: behind, topics };
    const [first] = answered(await backlog.peek(range)).entries;
    return first !== undefined && first.at < now - request.sinceMs;
  };
  const begins = await startsTooOld(0) ? await bisect(behind, startsTooOld) + 1 : 0;
  return Math.min(begins, after);
}

function answered<T>(answer: T | null): T {
  if (answer === null) throw new JournalError("unavailable", "it did not answer in time");
  return answer;
}

/**
 * The greatest offset below an end for which something holds; 0 when it holds for none. What holds for
 * an offset holds for each before it.
 */
async function bisect(
  end: number,
  holds: (offset: number) => Promise<boolean>,
): Promise<number> {
  let low = 0;
  let high = end;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * Checks how much of a past is asked for.
 *
 * @param request What the application passed.
 * @returns It.
 * @throws {TypeError} When a number in it is not a whole one from 0.
 */
export function checkHistory(request: HistoryRequest | undefined): HistoryRequest | undefined {
  if (request === undefined || request === true) return request;
  if (
    typeof request !== "object" || request === null ||
    ("last" in request) === ("sinceMs" in request)
  ) {
    throw new TypeError("Cannot use history: it must be true, { last: n } or { sinceMs: n }");
  }
  const [name, value] = "last" in request
    ? ["history.last", request.last]
    : ["history.sinceMs", request.sinceMs];
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new TypeError(`Cannot use ${name}: it is ${value}, it must be a whole number from 0`);
  }
  return request;
}
