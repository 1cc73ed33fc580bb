/**
 * Commands between pods: asking whichever pod holds a connection, and obeying when this one does.
 *
 * A sibling's word is never trusted: the holder asks its own hub again whose the connection is, and is
 * silent unless it is the user's who is named.
 *
 * @module
 */
import { TopicError } from "../../errors.ts";
import { JournalError } from "../../errors/journal.ts";
import { RelayError } from "../../errors/relay.ts";
import type { Clock } from "../../hub/clock.ts";
import type { StreamHub } from "../../hub/types.ts";
import type { Envelope, Message } from "../../relay/envelope.ts";
import { errorForLog } from "../../wire/text.ts";
import type { CommandReply, ConnectionCommand } from "../types.ts";
import { decodeCommand, decodeReply, encodeCommand, encodeReply } from "./command_codec.ts";
import type { Complaints } from "./complaints.ts";
import type { RelayCounters } from "./metrics.ts";
import { randomId } from "./options.ts";

/** The most questions that wait for an answer, and the most commands that are carried out, at once. */
const MAX_PENDING = 1024;

/** What commands need of their pod. */
export interface CommandsHome {
  /** The hub. */
  readonly hub: StreamHub;
  /** The clock. */
  readonly clock: Clock;
  /** Where it counts. */
  readonly counters: RelayCounters;
  /** Where it complains. */
  readonly complaints: Complaints;
  /** Sends a message. */
  say(message: Message): void;
}

/** A question that waits. */
interface Asked {
  readonly what: ConnectionCommand["do"];
  readonly settle: (reply: CommandReply | null) => void;
}

/** One pod's commands. */
export class Commands {
  readonly #home: CommandsHome;
  readonly #asked = new Map<string, Asked>();
  #waiting = 0;
  #obeying = 0;
  #ended = false;
  readonly #onEnd = new Set<() => void>();

  /** @param home The pod. */
  constructor(home: CommandsHome) {
    this.#home = home;
  }

  /**
   * Asks; see {@linkcode RelayMembership.ask}.
   *
   * @param command What is to be done.
   * @param waitMs How long an answer is waited for, in milliseconds.
   * @returns The answer; `null` when there was none in time.
   * @throws {RelayError} When too many questions wait.
   */
  async ask(command: ConnectionCommand, waitMs: number): Promise<CommandReply | null> {
    const { counters, clock } = this.#home;
    const waits = waitMs > 0 && command.do !== "disconnect";
    if (waits && this.#waiting >= MAX_PENDING) {
      throw new RelayError("unavailable", `${MAX_PENDING} commands wait for an answer already`);
    }
    const body = this.#ended ? null : encodeCommand(command);
    const id = randomId();
    const send = (): void => {
      if (body === null) return;
      counters.asked++;
      this.#home.say({ kind: "command", id, body });
    };
    if (!waits) {
      send();
      return null;
    }
    this.#waiting++;
    const reply = await new Promise<CommandReply | null>((resolve) => {
      const settle = (reply: CommandReply | null): void => {
        timer.cancel();
        this.#asked.delete(id);
        this.#onEnd.delete(forgo);
        resolve(reply);
      };
      const forgo = (): void => settle(null);
      // What nobody would obey is waited for just as long: that takes the time of any other question.
      const timer = clock.after(waitMs, forgo);
      this.#onEnd.add(forgo);
      if (body !== null) this.#asked.set(id, { what: command.do, settle });
      send();
    });
    this.#waiting--;
    if (reply === null && body !== null) counters.timedOut++;
    return reply;
  }

  /**
   * Takes a sibling's command.
   *
   * @param envelope The command, and who asks.
   */
  obey({ stamp, id, body }: Envelope & { readonly kind: "command" }): void {
    const { complaints, counters } = this.#home;
    const command = decodeCommand(body);
    if (command === null) {
      counters.malformed++;
      return complaints.warn("malformed", "A sibling's command could not be read");
    }
    // Silence: whoever asked takes it for nobody's, and asks again.
    if (this.#obeying >= MAX_PENDING) return;
    this.#obeying++;
    this.#carryOut(command).then((reply) => {
      this.#obeying--;
      if (reply === null || this.#ended) return;
      counters.answered++;
      this.#home.say({ kind: "reply", id, to: stamp.boot, body: encodeReply(reply) });
    }, (error) => {
      this.#obeying--;
      complaints.warn("command", `A sibling's command failed: ${errorForLog(error)}`);
    });
  }

  /**
   * Takes a sibling's answer.
   *
   * @param envelope The answer to a question of this pod.
   */
  take({ id, body }: Envelope & { readonly kind: "reply" }): void {
    const { complaints, counters } = this.#home;
    const asked = this.#asked.get(id);
    const reply = decodeReply(body);
    if (reply === null || (asked !== undefined && !answers(reply, asked.what))) {
      counters.malformed++;
      return complaints.warn("malformed", "A sibling's answer could not be read");
    }
    asked?.settle(reply);
  }

  /** Waits for nothing any more. */
  end(): void {
    this.#ended = true;
    for (const forgo of this.#onEnd) forgo();
  }

  /** What the holder answers; `null` for silence. */
  async #carryOut(command: ConnectionCommand): Promise<CommandReply | null> {
    const { hub, counters } = this.#home;
    const { user } = command;
    if (command.do === "disconnect") {
      if (hub.disconnect({ where: (info) => info.user === user }) > 0) counters.answered++;
      return null;
    }
    const { connection, topic } = command;
    if (hub.ownerOf(connection) !== user) return null;
    if (command.do === "unsubscribe") {
      return { kind: "unsubscribed", listened: hub.unsubscribe(connection, topic) };
    }
    const { history, after } = command;
    try {
      const done = await hub.subscribe(connection, topic, {
        ...(history !== undefined && { history }),
        ...(after !== undefined && { after }),
      });
      return done && { kind: "subscribed", verdict: done.verdict, head: done.head };
    } catch (error) {
      return refusalOf(error);
    }
  }
}

function answers(reply: CommandReply, what: ConnectionCommand["do"]): boolean {
  if (reply.kind === "refused") return true;
  return reply.kind === (what === "subscribe" ? "subscribed" : "unsubscribed");
}

function refusalOf(error: unknown): CommandReply {
  const kind = error instanceof TopicError
    ? "topic"
    : error instanceof JournalError
    ? "journal"
    : error instanceof TypeError
    ? "type"
    : "failed";
  const text = error instanceof Error ? error.message : String(error);
  // The error that is made of it says this itself.
  const reason = text.replace(/^Cannot use the (?:topics|journal): /, "");
  return { kind: "refused", error: kind, reason };
}

/**
 * The error that a refused command raises where it was asked.
 *
 * @param refusal The refusal.
 * @returns The error that the holder's hub threw, as nearly as it can be told.
 */
export function errorOf(refusal: CommandReply & { readonly kind: "refused" }): Error {
  const { error, reason } = refusal;
  switch (error) {
    case "topic":
      return new TopicError(reason);
    case "journal":
      return new JournalError("unavailable", reason);
    case "type":
      return new TypeError(reason);
    case "failed":
      return new RelayError("failed", `the connection's pod could not carry it out: ${reason}`);
  }
}
