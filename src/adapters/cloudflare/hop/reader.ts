/**
 * Reading the journal for one connection: as much at a time as it may be sent.
 *
 * @module
 */
import { journalTopics, receives } from "../../../hub/topics.ts";
import type { Journal, JournalEntry, JournalRange } from "../../../journal/journal.ts";
import { lagFrames, type ResetReason } from "../../../wire/control.ts";
import { formatCursor } from "../../../wire/cursor.ts";
import { encodeFrame, joinBytes } from "../../../wire/frame.ts";
import type { HopRow } from "./table.ts";

/** How much is put into one message. */
const MESSAGE_BYTES = 65_536;

/** The most entries that are read at once. */
const PAGE = 128;

/** The least that is known of frames before the first was seen, in bytes. */
const FIRST_GUESS = 1024;

/** A part of what was asked for. */
export interface Piece {
  /** The frames; empty when nothing matched. */
  readonly bytes: Uint8Array;
  /** Everything that matches, up to here, is among them, or was sent before. */
  readonly through: number;
  /** From here on the journal holds everything. */
  readonly floor: number;
  /** The epoch of what was read. */
  readonly epoch: string;
}

/** What is wanted of an entry that was read. */
export interface Wanted {
  /** Whether its frame moves the client's cursor. */
  readonly ids: boolean;
  /** Whether it is wanted: what the connection listens to may have changed meanwhile. */
  matches(entry: JournalEntry): boolean;
}

/** One connection's reader. */
export class HopReader {
  readonly #journal: Pick<Journal, "read">;
  readonly #epoch: string;
  /** About how large the frames are, so that not many more are read than can be sent. */
  #usual = FIRST_GUESS;

  /**
   * @param journal The journal.
   * @param epoch The epoch of the ids.
   */
  constructor(journal: Pick<Journal, "read">, epoch: string) {
    this.#journal = journal;
    this.#epoch = epoch;
  }

  /**
   * Reads what comes next.
   *
   * @param range Of which entries.
   * @param room How many bytes may be sent; one frame is given whatever its size.
   * @param wanted What is made of them.
   * @returns The piece.
   * @throws {JournalError} When the journal cannot be read.
   */
  async read(range: JournalRange, room: number, wanted: Wanted): Promise<Piece> {
    const most = Math.min(MESSAGE_BYTES, room);
    const limit = Math.min(PAGE, Math.max(1, Math.ceil(most / this.#usual)));
    const page = await this.#journal.read({ ...range, limit });
    const parts: Uint8Array[] = [];
    let { through } = page;
    let size = 0;
    for (const entry of page.entries) {
      if (!wanted.matches(entry)) continue;
      const bytes = this.#encode(entry, wanted.ids);
      if (size > 0 && size + bytes.length > most) {
        through = entry.offset - 1;
        break;
      }
      parts.push(bytes);
      size += bytes.length;
    }
    return { bytes: joinBytes(parts), through, floor: page.floor, epoch: page.epoch };
  }

  /**
   * What a connection is owed next.
   *
   * @param span After its position, and up to where everybody is.
   * @param row What it listens to, and whether its client understands a hole.
   * @param room How many bytes may be sent.
   * @returns The frames, and its position behind them; or why it cannot go on, as its client is told.
   * @throws {JournalError} When the journal cannot be read.
   */
  async next(
    { after, upTo }: { readonly after: number; readonly upTo: number },
    row: Pick<HopRow, "topics" | "lag">,
    room: number,
  ): Promise<Pick<Piece, "bytes" | "through"> | ResetReason> {
    const piece = await this.read({ after, upTo, topics: journalTopics(row.topics) }, room, {
      ids: true,
      matches: ({ topic, offset }) => receives(row.topics, topic, offset),
    });
    if (piece.epoch !== this.#epoch) return "shutdown";
    const { bytes, through, floor } = piece;
    if (floor <= after + 1) return { bytes, through: Math.min(Math.max(after, through), upTo) };
    // Nobody holds what follows the position any more.
    if (!row.lag) return "slow";
    const [from, to] = [this.#cursor(after), this.#cursor(floor - 1)];
    return { bytes: lagFrames({ missed: null, from, to }), through: floor - 1 };
  }

  #cursor(offset: number): string {
    return formatCursor({ epoch: this.#epoch, offset });
  }

  #encode({ offset, name, data }: JournalEntry, withId: boolean): Uint8Array {
    const id = withId ? this.#cursor(offset) : null;
    const bytes = encodeFrame(id, name, data);
    this.#usual = Math.ceil((this.#usual + bytes.length) / 2);
    return bytes;
  }
}
