/**
 * What one client was told and given over all its connections: from that a loss is a number, not an
 * impression.
 *
 * @module
 */
import type { EventStream } from "../../support/stream.ts";
import { hears, type ModelEvent } from "./model.ts";

/** One connection of a client, as it ended. */
interface Session {
  /** The offset after which it was to receive: its cursor's when it resumed, else the hello's head. */
  readonly from: number;
  /** The newest offset that an id covered. */
  readonly to: number;
  /** The offsets it received, in order. */
  readonly received: readonly number[];
}

/** What became of the events that clients were to receive. */
export interface Account {
  /** Received when they were due. */
  received: number;
  /** Due, and never received. */
  lost: number;
  /** Received again, or though they were not due. */
  extra: number;
  /** Connections that resumed, and those of them that had missed something. */
  resumed: number;
  replayed: number;
  /** Connections whose hello told of a gap. */
  told: number;
  /** The first things that are wrong, for the message. */
  faults: string[];
}

/** Adds up the connections of one client. */
export class Ledger {
  /** The cursor to present next; `undefined` before the first. */
  cursor: string | undefined;
  readonly #topics: readonly string[];
  readonly #sessions: Session[] = [];
  #resumed = 0;
  #replayed = 0;
  #told = 0;

  /** @param topics The client's topics; empty for everything. */
  constructor(topics: readonly string[]) {
    this.#topics = topics;
  }

  /**
   * Enters a connection that has ended.
   *
   * @param stream The connection; its blocks were kept.
   */
  enter(stream: EventStream): void {
    const { hello, offset } = stream.audit;
    if (hello === null) return;
    const from = hello.resumed ? Number(this.cursor?.slice(17)) : Number(hello.head);
    const received = stream.offsets;
    if (hello.resumed) {
      this.#resumed++;
      if (received.some((each) => each <= Number(hello.head))) this.#replayed++;
    } else if (hello.verdict !== "fresh") {
      this.#told++;
    }
    this.#sessions.push({ from, to: offset, received });
    // Fresh, or told of a gap, it goes on from the hello's head: what an application then fetches is
    // at least as new.
    this.cursor = `${hello.epoch}:${offset}`;
  }

  /**
   * Compares what was received with what was published.
   *
   * @param published Every event, by its offset.
   * @param account Where to add it.
   */
  settle(published: ReadonlyMap<number, ModelEvent>, account: Account): void {
    account.resumed += this.#resumed;
    account.replayed += this.#replayed;
    account.told += this.#told;
    for (const [index, { from, to, received }] of this.#sessions.entries()) {
      const left = new Set<number>();
      for (let offset = from + 1; offset <= to; offset++) {
        const event = published.get(offset);
        if (event !== undefined && hears(this.#topics, event.topic)) left.add(offset);
      }
      for (const offset of received) {
        if (left.delete(offset)) account.received++;
        else {
          account.extra++;
          account.faults.push(`connection ${index} (${from}, ${to}] was given ${offset} again`);
        }
      }
      account.lost += left.size;
      for (const offset of left) {
        account.faults.push(`connection ${index} (${from}, ${to}] was never given ${offset}`);
      }
    }
  }
}

/** An account with nothing in it. */
export function emptyAccount(): Account {
  return { received: 0, lost: 0, extra: 0, resumed: 0, replayed: 0, told: 0, faults: [] };
}
