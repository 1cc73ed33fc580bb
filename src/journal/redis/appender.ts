/**
 * Appending: in order, many in one script, each with an outcome in time.
 *
 * One script is under way at a time. What is appended meanwhile goes together in the next one, so the
 * order holds whatever the server answers (a script that it does not know after a restart is sent
 * again), and many cost little more than one.
 *
 * @module
 */
import { AppendUnknownError, JournalError } from "../../errors/journal.ts";
import { newEpoch } from "../epoch.ts";
import type { Appended, JournalEvent } from "../journal.ts";
import { neverSent, refused, replyFault } from "./faults.ts";
import { type Link, readReply, type Script } from "./link.ts";
import type { RedisSettings } from "./options.ts";
import type { Watcher } from "./watcher.ts";

/** The most events of one script: it holds up the server for about a millisecond. */
const BATCH_EVENTS = 128;

/** The most characters of one script, unless one event has more. */
const BATCH_CHARACTERS = 262_144;

/** An append that has no outcome yet. */
interface Pending {
  readonly event: JournalEvent;
  readonly id: string;
  /** When it is given up, by `performance.now()`. */
  readonly deadline: number;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: Error) => void;
}

/** What an appender works with. */
export interface AppenderParts {
  /** The connection. */
  readonly link: Link;
  /** The script that stores. */
  readonly script: Script;
  /** Knows what has been seen, and is told of what was stored. */
  readonly watcher: Watcher;
  /** The options. */
  readonly settings: RedisSettings;
}

/** Stores events. */
export class Appender {
  readonly #parts: AppenderParts;
  /** Ids of its own: 64 random bits, and a counter. */
  readonly #author: string = newEpoch();
  #made = 0;
  /** Not sent yet; its first stands at `#next`. */
  #queue: Pending[] = [];
  /** Sent, and not answered or given up. In the order of their deadlines, as the queue is. */
  #sent: Pending[] = [];
  /** Counts the scripts: an answer to one that was given up must change nothing. */
  #turn = 0;
  #busy = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The server's clock less ours, in milliseconds. */
  #skew = Number.NaN;
  #onIdle: (() => void)[] = [];

  /**
   * Makes one for a connection.
   *
   * @param parts What it works with.
   */
  constructor(parts: AppenderParts) {
    this.#parts = parts;
    parts.link.onBreak(() => this.#break());
  }

  /**
   * Stores an event, after those that were given before it.
   *
   * @param event The event.
   * @returns Where it was stored.
   * @throws {JournalError} When it was not stored.
   * @throws {AppendUnknownError} When that is not known.
   */
  append(event: JournalEvent): Promise<Appended> {
    const id = event.id ?? `${this.#author}${(this.#made++).toString(36)}`;
    const deadline = performance.now() + this.#parts.settings.appendTimeoutMs;
    return new Promise((resolve, reject) => {
      this.#queue.push({ event, id, deadline, resolve, reject });
      this.#arm();
      // What is appended in one go, without waiting, is sent together.
      if (this.#queue.length === 1 && !this.#busy) queueMicrotask(() => this.#pump());
    });
  }

  /** Settles when every append has its outcome, which is a matter of time. */
  idle(): Promise<void> {
    if (this.#queue.length + this.#sent.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  #pump(): void {
    while (!this.#busy && this.#queue.length > 0) {
      const { away } = this.#parts.link;
      const batch = this.#take();
      if (away === null) {
        this.#sent = batch;
        this.#busy = true;
        void this.#send(batch, ++this.#turn);
      } else {
        for (const { reject } of batch) reject(new JournalError("unavailable", away));
      }
    }
    this.#rest();
  }

  #take(): Pending[] {
    let characters = 0;
    let count = 0;
    for (const { event } of this.#queue) {
      characters += event.topic.length + event.name.length + event.data.length;
      if (count > 0 && (count === BATCH_EVENTS || characters > BATCH_CHARACTERS)) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  /** Sends a batch, and settles what of it has not been given up meanwhile. Never rejects. */
  async #send(batch: readonly Pending[], turn: number): Promise<void> {
    try {
      const answers = await this.#run(batch, turn);
      if (turn === this.#turn) this.#settle(batch, answers);
    } catch (error) {
      if (turn !== this.#turn) return;
      for (const { id, reject } of this.#sent) reject(outcome(id, error));
    }
    if (turn === this.#turn) this.#done();
  }

  /** Runs the script: once more when the clock of the server was not known well enough. */
  async #run(batch: readonly Pending[], turn: number): Promise<readonly unknown[]> {
    const { link, script, settings, watcher } = this.#parts;
    const events = batch.flatMap(({ id, event }) => {
      return [id, event.topic, event.name, event.data, String(event.at)];
    });
    for (let attempt = 1;; attempt++) {
      // A client may send what is long over: by then the id may be forgotten, and no repetition seen.
      const until = Math.ceil(performance.now() + this.#skew + settings.idTtlMs / 2);
      const reply = await link.run(script, [
        newEpoch(),
        ...settings.bounds,
        watcher.epoch,
        String(watcher.head),
        String(Number.isNaN(until) ? Number.MAX_SAFE_INTEGER : until),
        String(settings.idTtlMs),
        ...events,
      ]);
      if (!Array.isArray(reply) || reply[0] !== "late") return readReply(reply);
      this.#setClock(reply[1]);
      if (attempt === 2 || turn !== this.#turn) {
        throw new Error("the command reached Redis too late to be run");
      }
    }
  }

  #settle(batch: readonly Pending[], answers: readonly unknown[]): void {
    const [first, time, ...offsets] = answers;
    const epoch = String(first);
    this.#setClock(time);
    let head = 0;
    const given = batch.length - this.#sent.length;
    for (const [index, { id, resolve, reject }] of batch.entries()) {
      const answer = offsets[index];
      const offset = Number(answer);
      if (Number.isSafeInteger(offset)) {
        head = Math.max(head, offset);
        if (index >= given) resolve({ epoch, offset });
      } else if (index >= given) {
        reject(outcome(id, answer));
      }
    }
    if (head > 0) this.#parts.watcher.note(epoch, head);
  }

  #setClock(time: unknown): void {
    this.#skew = Number(time) - performance.now();
  }

  #done(): void {
    this.#sent = [];
    this.#busy = false;
    this.#pump();
  }

  /** Gives up what is over its time. */
  #expire(): void {
    const now = performance.now();
    const { appendTimeoutMs } = this.#parts.settings;
    for (const { id, reject } of cut(this.#sent, now)) {
      reject(new AppendUnknownError(id, `Redis did not answer within ${appendTimeoutMs} ms`));
    }
    // What has hardly any time left is not sent to a server that is late: it could but become unknown.
    for (const { reject } of cut(this.#queue, now + appendTimeoutMs / 10)) {
      const reason = `the event could not be sent to Redis within ${appendTimeoutMs} ms`;
      reject(new JournalError("unavailable", reason));
    }
    // The next answer belongs to nobody; what comes after goes the same way, behind it.
    if (this.#busy && this.#sent.length === 0) this.#leave();
    this.#rest();
  }

  /**
   * Gives up what was sent. The client may send it again; then an answer would be one to the second
   * sending, and say nothing of the first. Or it drops it, and there is none.
   */
  #break(): void {
    if (!this.#busy) return;
    for (const { id, reject } of this.#sent) {
      reject(new AppendUnknownError(id, "the connection to Redis broke before it answered"));
    }
    this.#leave();
  }

  #leave(): void {
    this.#turn++;
    this.#done();
  }

  #arm(): void {
    const first = this.#sent[0] ?? this.#queue[0];
    if (this.#timer !== undefined || first === undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#expire();
    }, Math.max(1, first.deadline - performance.now()));
  }

  /** Keeps a timer while there is something to give up, and none otherwise. */
  #rest(): void {
    if (this.#queue.length + this.#sent.length > 0) return this.#arm();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#onIdle;
    this.#onIdle = [];
    for (const settle of waiting) settle();
  }
}

/** Takes from the beginning of a list what is to be given up by some time. */
function cut(list: Pending[], time: number): Pending[] {
  const rest = list.findIndex(({ deadline }) => deadline > time);
  return list.splice(0, rest === -1 ? list.length : rest);
}

/** What is known of an append that was not stored, or not answered. */
function outcome(id: string, error: unknown): Error {
  if (error instanceof JournalError) return error;
  const fault = neverSent(error) ? "unavailable" : replyFault(error);
  if (fault !== null) return refused(error, fault);
  return new AppendUnknownError(id, "the answer of Redis was lost", error);
}
