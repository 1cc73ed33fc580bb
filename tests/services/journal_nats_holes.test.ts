import { assert, assertEquals, assertRejects } from "@std/assert";
import { JournalError, JournalGapError } from "../../src/errors/journal.ts";
import { askJetStream, NATS } from "../support/nats.ts";
import { test } from "../support/test.ts";
import { dataOf, event, readAll, withNats } from "./journal_nats_world.ts";

const OPTIONS = { needs: [NATS], foreignTimers: true };

test(
  "JetStream: an entry that an operator deletes raises the floor above it, and keeps the epoch",
  () =>
    withNats(async ({ server, open }) => {
      const journal = await open({ name: "holes" });
      for (let n = 1; n <= 10; n++) await journal.append(event(n, n % 2 === 0 ? "even" : "odd"));
      const { epoch } = await journal.window();
      const operator = await server.connect();
      for (const [seq, floor] of [[4, 5], [2, 5], [7, 8], [10, 11]] as const) {
        await askJetStream(operator, "STREAM.MSG.DELETE.holes", { seq });
        assertEquals(await journal.window(), { epoch, floor, head: 10 });
        const held = Array.from({ length: 11 - floor }, (_, n) => `event ${floor + n}`);
        assertEquals(dataOf(await readAll(journal)), held);
        assertEquals(await journal.count({ after: 0, topics: null }, 99), held.length);
        assertEquals(
          await journal.count({ after: 0, topics: ["odd", "even"] }, 99),
          held.length,
        );
      }
      const { offset } = await journal.append(event(11));
      assertEquals(offset, 11);
      assertEquals(dataOf(await readAll(journal)), ["event 11"]);
    }),
  OPTIONS,
);

test(
  "JetStream: a topic that an operator purges is a gap for a tail behind it, not for one at the head",
  () =>
    withNats(async ({ server, open }) => {
      const journal = await open({ name: "topics" });
      for (let n = 1; n <= 6; n++) await journal.append(event(n, n === 3 ? "secret" : "plain"));
      const { epoch } = await journal.window();
      const { signal } = new AbortController();
      const head = journal.tail({ epoch, after: 6, signal })[Symbol.asyncIterator]();
      const next = head.next();
      const operator = await server.connect();
      await askJetStream(operator, "STREAM.PURGE.topics", { filter: "topics.secret" });
      const behind = journal.tail({ epoch, after: 1, signal })[Symbol.asyncIterator]();
      const error = await assertRejects(() => behind.next(), JournalGapError);
      assertEquals([error.after, error.floor], [1, 4]);
      await journal.append(event(7));
      assertEquals(dataOf((await next).value ?? []), ["event 7"]);
      await head.return?.();
    }),
  OPTIONS,
);

test(
  "JetStream: a hole that opens ahead of a running tail is told where it stands",
  () =>
    withNats(async ({ server, open }) => {
      const journal = await open({ name: "ahead" });
      const { epoch } = await journal.window();
      // More than is asked for at once, so that the tail has not pulled the end.
      const events = Array.from({ length: 1200 }, (_, n) => event(n + 1));
      await Promise.all(events.map((each) => journal.append(each)));
      const { signal } = new AbortController();
      const tail = journal.tail({ epoch, after: 0, signal })[Symbol.asyncIterator]();
      const seen = [...(await tail.next()).value ?? []];
      const operator = await server.connect();
      await askJetStream(operator, "STREAM.MSG.DELETE.ahead", { seq: 1100 });
      const error = await assertRejects(async () => {
        for (;;) {
          const { value, done } = await tail.next();
          if (done === true) return;
          seen.push(...value);
        }
      }, JournalGapError);
      assertEquals(error.floor, 1101);
      assertEquals(
        seen.map(({ offset }) => offset),
        Array.from({ length: seen.length }, (_, n) => n + 1),
      );
      assert(seen.length >= 512 && seen.length < 1100, `${seen.length} before the hole`);
      assertEquals(error.after, seen.length);
    }),
  OPTIONS,
);

test(
  "JetStream: more topics than have a consumer each are picked out of everything, page by page",
  () =>
    withNats(async ({ open }) => {
      const journal = await open({ name: "many" });
      const events = Array.from({ length: 5000 }, (_, n) => event(n, `topic ${n % 100}`));
      await Promise.all(events.map((each) => journal.append(each)));
      const topics = Array.from({ length: 40 }, (_, n) => `topic ${n * 2}`);
      const wanted = events.filter(({ topic }) => topics.includes(topic)).map(({ data }) => data);
      for (const limit of [7, 300, 5000]) {
        assertEquals(dataOf(await readAll(journal, topics, limit)), wanted);
      }
      assertEquals(await journal.count({ after: 0, topics }, 1e6), wanted.length);
      assertEquals(await journal.count({ after: 0, upTo: 100, topics }, 1e6), 40);
      // Nothing of these is there: the head is reached all the same.
      assertEquals(await readAll(journal, topics.map((topic) => `no ${topic}`)), []);
    }),
  OPTIONS,
);

test(
  "JetStream: large entries come in pages of bounded size, of one topic and of all",
  () =>
    withNats(async ({ open }) => {
      const journal = await open({ name: "large" });
      const data = "x".repeat(journal.maxBytes - 16);
      for (let n = 0; n < 12; n++) {
        await journal.append({ topic: `t${n % 3}`, name: "", data, at: n });
      }
      for (const topics of [null, ["t0"], ["t0", "t1"]]) {
        const page = await journal.read({ after: 0, topics, limit: 100 });
        const { length } = page.entries;
        assert(length >= 1 && length <= 4, `1 to 4 entries of a mebibyte, not ${length}`);
        const all = await readAll(journal, topics);
        assertEquals(all.length, topics === null ? 12 : topics.length * 4);
        assertEquals(
          all.filter((entry) => entry.data !== data),
          [],
        );
      }
      const { epoch } = await journal.window();
      let count = 0;
      const { signal } = new AbortController();
      for await (const batch of journal.tail({ epoch, after: 0, signal })) {
        count += batch.length;
        if (count === 12) break;
      }
    }),
  { ...OPTIONS, timeoutMs: 90_000 },
);

test(
  "JetStream: a message that this library did not write is refused as of another format",
  () =>
    withNats(async ({ server, open }) => {
      const operator = await server.connect();
      const bodies = ["", "hello", "2 1 0\n", "1 x 0\n", "1 1 0 0\n", new Uint8Array([0xff, 0xfe])];
      for (const [index, body] of bodies.entries()) {
        const name = `foreign-${index}`;
        const journal = await open({ name });
        await journal.append(event(1));
        await operator.request(`${name}.topic`, body, { timeout: 2000 });
        const { epoch } = await journal.window();
        const { signal } = new AbortController();
        const ends: readonly (() => Promise<unknown>)[] = [
          () => journal.read({ after: 0, topics: null, limit: 10 }),
          async () => {
            for await (const _batch of journal.tail({ epoch, after: 1, signal }));
          },
        ];
        for (const end of ends) {
          assertEquals((await assertRejects(end, JournalError)).fault, "format", `body ${index}`);
        }
      }
    }),
  OPTIONS,
);
