/**
 * Reading in pages, and counting.
 *
 * @module
 */
import type { Journal, JournalEntry, JournalPage, JournalQuery, JournalRange } from "../journal.ts";
import { type Draft, fill, makeEvent, plain } from "./bench.ts";
import { ensure, equal, sameEntries } from "./expect.ts";

/** Topics of which a careless comparison takes one for the other. */
const TOPICS = ["", "a", "A", "ab", "a.b", "a.*", "*", ">", "%", "a_", " a", "a "] as const;

/** More pages than any reading here may take. */
const MAX_PAGES = 2000;

export const readCases: readonly Draft[] = [
  {
    name: "pages of every size, joined, are the whole journal",
    async body(bench) {
      const journal = await bench.open();
      const expected = await fill(journal, plain(60));
      for (const limit of [1, 7, 59, 60, 61, 100_000]) {
        const read = await paged(journal, { after: 0, topics: null, limit });
        sameEntries(read, expected, `pages of at most ${limit} to be the whole`);
      }
    },
  },
  {
    name: "a page begins after its offset, and ends with upTo",
    async body(bench) {
      const journal = await bench.open();
      const expected = await fill(journal, plain(20));
      const offsets = [0, ...expected.map(({ offset }) => offset)];
      const last = offsets.at(-1) ?? 0;
      for (const after of offsets) {
        for (const upTo of [...offsets, last + 1, last + 1000]) {
          const range = { after, upTo, topics: null };
          sameEntries(
            await paged(journal, { ...range, limit: 6 }),
            within(expected, range),
            `the entries after ${after} up to ${upTo}`,
          );
        }
      }
    },
  },
  {
    name: "a page is of exactly the topics that are asked for",
    async body(bench) {
      const journal = await bench.open();
      const events = plain(96).map((event, n) => ({
        ...event,
        topic: TOPICS[(n * 7) % TOPICS.length] ?? "",
      }));
      const expected = await fill(journal, events);
      const lists: (readonly string[] | null)[] = [
        ...TOPICS.map((topic) => [topic]),
        ["", "a"],
        ["a", "A", "none"],
        ["a.*", "ab", "a.b"],
        ["a", "a"],
        ["none", "b", "."],
        [],
        [...TOPICS],
        null,
      ];
      for (const topics of lists) {
        const range = { after: 0, topics };
        const wanted = within(expected, range);
        const what = `the entries of ${JSON.stringify(topics)}`;
        for (const limit of [1, 5, 1000]) {
          sameEntries(await paged(journal, { ...range, limit }), wanted, what);
        }
        equal(await journal.count(range, 1000), wanted.length, `the count of ${what}`);
      }
    },
  },
  {
    name: "a reader of a rare topic, or of one that is not there, makes progress to the head",
    async body(bench) {
      const journal = await bench.open();
      const rare = (n: number): boolean => n === 3 || n === 700 || n === 1398;
      const events = plain(1400).map((event, n) => ({
        ...event,
        topic: rare(n) ? "rare" : "often",
      }));
      const expected = await fill(journal, events);
      const head = expected.at(-1)?.offset ?? 0;
      for (const topics of [["rare"], ["none"], ["rare", "none"]]) {
        for (const upTo of [undefined, expected[1000]?.offset, head]) {
          const range = { after: 0, topics, ...(upTo === undefined ? {} : { upTo }) };
          const wanted = within(expected, range);
          const what = `${topics} up to ${upTo ?? "the head"}`;
          sameEntries(await paged(journal, { ...range, limit: 2 }), wanted, what);
          equal(await journal.count(range, 10), wanted.length, `the count of ${what}`);
        }
      }
    },
  },
  {
    name: "a page that ends at the head does not pass what is appended next",
    async body(bench) {
      const journal = await bench.open();
      const [first] = await fill(journal, plain(1));
      for (const topics of [null, [""], ["t"], ["none"]]) {
        const { head } = await journal.window();
        const page = await journal.read({ after: 0, upTo: head + 1000, topics, limit: 1000 });
        ensure(page.through <= head, `through to be at most the head ${head}, not ${page.through}`);
        const [next] = await fill(journal, [makeEvent(2, { topic: topics?.[0] ?? "" })]);
        const more = await paged(journal, { after: page.through, topics, limit: 1000 });
        sameEntries(more.slice(-1), next === undefined ? [] : [next], "what was appended next");
      }
      ensure(first !== undefined, "an entry");
    },
  },
  {
    name: "a page beyond the head is empty, and does not go back",
    async body(bench) {
      const journal = await bench.open();
      const entries = await fill(journal, plain(3));
      const head = entries.at(-1)?.offset ?? 0;
      for (const after of [head, head + 1, head + 1000]) {
        for (const topics of [null, [""], ["none"]]) {
          const page = await journal.read({ after, topics, limit: 10 });
          equal([page.entries, page.through], [[], after], `the page after ${after}`);
          equal(await journal.count({ after, topics }, 10), 0, `the count after ${after}`);
        }
      }
      const back = await journal.read({ after: head, upTo: 1, topics: null, limit: 10 });
      equal([back.entries, back.through], [[], head], "the page of a range that goes back");
      equal(await journal.count({ after: head, upTo: 1, topics: null }, 10), 0, "its count");
    },
  },
  {
    name: "a page carries the window",
    async body(bench) {
      const journal = await bench.open();
      await fill(journal, plain(10));
      const { epoch, floor, head } = await journal.read({ after: 4, topics: null, limit: 2 });
      equal({ epoch, floor, head }, await journal.window(), "the window of a page");
    },
  },
  {
    name: "a count is what reading gives, and may stop at enough",
    async body(bench) {
      const journal = await bench.open();
      const topicOf = (n: number): string => n % 10 === 0 ? "tenth" : n % 2 === 0 ? "even" : "";
      const events = plain(100).map((event, n) => ({ ...event, topic: topicOf(n) }));
      const expected = await fill(journal, events);
      const at = (index: number): number => expected[index]?.offset ?? 0;
      for (const topics of [null, [""], ["tenth"], ["tenth", "even"], ["none"], []]) {
        for (
          const [after, upTo] of [[0, at(99)], [at(9), at(49)], [at(49), at(50)], [at(98), 1e6]]
        ) {
          const range = { after: after ?? 0, upTo: upTo ?? 0, topics };
          const real = within(expected, range).length;
          for (const enough of [1, 2, real, real + 1, 1000]) {
            const count = await journal.count(range, Math.max(1, enough));
            const right = real < enough ? count === real : count >= enough && count <= real;
            ensure(
              right || enough === 0,
              `a count of ${real} with enough at ${enough} in ${
                JSON.stringify(range)
              }, not ${count}`,
            );
          }
        }
      }
    },
  },
];

/** Reads a range page by page, and holds every page against what a page promises. */
export async function paged(journal: Journal, query: JournalQuery): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  let { after } = query;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await journal.read({ ...query, after });
    const end = checkPage(page, { ...query, after });
    entries.push(...page.entries);
    if (page.through >= end) return entries;
    after = page.through;
  }
  throw new Error(`Expected at most ${MAX_PAGES} pages for ${JSON.stringify(query)}`);
}

/** Expects of one page what every page promises; returns where its reader may stop. */
function checkPage(page: JournalPage, query: JournalQuery): number {
  const { after, upTo = Infinity, limit } = query;
  const { entries, through, head } = page;
  const what = `in the page of ${JSON.stringify(query)}`;
  const end = Math.max(after, Math.min(upTo, head));
  ensure(entries.length <= limit, `at most ${limit} entries ${what}, not ${entries.length}`);
  let before = after;
  for (const { offset } of entries) {
    ensure(offset > before && offset <= upTo, `an offset above ${before} ${what}, not ${offset}`);
    before = offset;
  }
  ensure(through >= before, `through at ${before} or more ${what}, not ${through}`);
  ensure(through <= end, `through at ${end} or less ${what}, not ${through}`);
  ensure(through > after || after === end, `progress beyond ${after} ${what}`);
  return end;
}

/** What of some entries lies in a range. */
export function within(entries: readonly JournalEntry[], range: JournalRange): JournalEntry[] {
  const { after, upTo = Infinity, topics } = range;
  return entries.filter(({ offset, topic }) =>
    offset > after && offset <= upTo && (topics === null || topics.includes(topic))
  );
}
