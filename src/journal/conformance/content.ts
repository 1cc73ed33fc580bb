/**
 * What an entry may hold, and how much.
 *
 * @module
 */
import type { JournalEvent } from "../journal.ts";
import { asEntry, type Draft, fill, makeEvent, readAll } from "./bench.ts";
import { equal, faults, sameEntries } from "./expect.ts";

const MIB = 1024 * 1024;

/** Above this a bound is not tried: the event would be larger than the wire lets through. */
const MAX_TRIED = 16 * MIB;

const encoder = new TextEncoder();

/** Data that stores have been seen to cut, trim, translate or fold. */
const DATA: readonly string[] = [
  "",
  " ",
  "\u0000",
  "before\u0000after\u0000",
  "\r\n",
  "one\rtwo\nthree\r\nfour\n\r",
  "\n\n",
  "\ufeffa byte order mark",
  "\u2028 and \u2029",
  "\ufffe\uffff\ufffd",
  "e\u0301 is not \u00e9",
  "\u{1f30a}\u{10ffff}\u{10000}",
  '{"json":"in \\"JSON\\"","n":1.0}',
  "12345678901234567890",
  "0012",
  "null",
  "'; DROP TABLE entries; --",
  "%s %d ${x} \\u0000 \\",
  "\u0001\u0002\u001b[31m\u007f\u0080",
];

/** Names and topics that are patterns, paths or separators somewhere. */
const WORDS: readonly string[] = [
  "",
  "a",
  "A",
  "a.b",
  "*",
  ">",
  "a b",
  " ",
  "a:b/c?d#e",
  "%",
  "_",
  "'\"`\\",
  "$1",
  "0",
  "\u{1f30a}é",
  "x".repeat(256),
  "\u{1f30a}".repeat(128),
];

export const contentCases: readonly Draft[] = [
  {
    name: "an entry comes back exactly as it was appended, whatever its data",
    async body(bench) {
      const journal = await bench.open();
      const { epoch } = await journal.window();
      const follower = bench.follow(journal, { epoch, after: 0 });
      const at = Date.now();
      const events = DATA.map((data, n): JournalEvent => ({
        topic: "t",
        name: "n",
        data,
        at: at - n,
      }));
      const expected = await fill(journal, events);
      sameEntries(await readAll(journal), expected, "the data to be read as it was appended");
      sameEntries(await readAll(journal, ["t"]), expected, "the data of a topic to be the same");
      sameEntries(await follower.take(DATA.length), expected, "the data to be followed");
    },
  },
  {
    name: "an entry comes back exactly as it was appended, whatever its topic and its name",
    async body(bench) {
      const journal = await bench.open();
      const at = Date.now();
      const events = WORDS.flatMap((word, n): JournalEvent[] => [
        { topic: word, name: "", data: "", at: at + n },
        { topic: "", name: word, data: word, at: at - n },
      ]);
      const expected = await fill(journal, events);
      sameEntries(await readAll(journal), expected, "topic and name to be read as appended");
      const again = await bench.reopen(journal);
      sameEntries(await readAll(again), expected, "topic and name to be the same after reopening");
    },
  },
  {
    name: "a mebibyte of data, or as much as the store takes, comes back exactly",
    async body(bench) {
      const journal = await bench.open();
      const room = Math.min(MIB, journal.maxBytes) - "large".length;
      const piece = "\u{1f30a} é\r\n\u0000";
      const length = encoder.encode(piece).length;
      const text = piece.repeat(Math.floor(room / length)) + "x".repeat(room % length);
      const event: JournalEvent = { topic: "", name: "large", data: text, at: Date.now() };
      const { offset } = await journal.append(event);
      sameEntries(await readAll(journal), [asEntry(event, offset)], "a large entry to be whole");
      const again = await bench.reopen(journal);
      sameEntries(await readAll(again), [asEntry(event, offset)], "a large entry to be kept whole");
    },
  },
  {
    name:
      "an event above maxBytes is refused as too large and takes no offset; one of it is stored",
    async body(bench) {
      const journal = await bench.open();
      const max = Math.min(journal.maxBytes, MAX_TRIED);
      // Bytes are meant, not characters: two in each.
      const fields = { topic: "é", name: "é" };
      const data = "é".repeat((max - 4) / 2) + (max % 2 === 1 ? "x" : "");
      const largest = makeEvent(1, { ...fields, data });
      const { offset } = await journal.append(largest);
      if (max === journal.maxBytes) {
        const above = makeEvent(2, { ...fields, data: `${data}x` });
        await faults(journal.append(above), "too_large", "an append of maxBytes and one byte");
        equal((await journal.window()).head, offset, "the head after a refused append");
      }
      sameEntries(await readAll(journal), [asEntry(largest, offset)], "the largest to be stored");
      const next = makeEvent(3);
      const after = await journal.append(next);
      const page = await journal.read({ after: offset, topics: null, limit: 2 });
      sameEntries(page.entries, [asEntry(next, after.offset)], "the journal to go on");
    },
  },
];
