import { assert, assertEquals, assertRejects } from "@std/assert";
import { headers } from "@nats-io/transport-node";
import { ConfigError } from "../../src/errors.ts";
import { JournalError } from "../../src/errors/journal.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { type JetStreamJournalOptions, openJetStreamJournal } from "../../src/journal/nats.ts";
import { hazard } from "../../src/journal/nats/config.ts";
import { askJetStream, NATS } from "../support/nats.ts";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";
import { event, type NatsBench, withNats } from "./journal_nats_world.ts";

const SECOND_NS = 1_000_000_000;

/** A stream as an operator would make it for a journal. */
const good = (name: string): Record<string, unknown> => ({
  name,
  subjects: [`${name}.*`],
  storage: "file",
  retention: "limits",
  max_age: 3600 * SECOND_NS,
});

/** What this server lets an operator choose, and what the refusal says. */
const UNSAFE: readonly (readonly [change: Record<string, unknown>, reason: RegExp])[] = [
  [{ storage: "memory" }, /storage is memory/],
  [{ retention: "workqueue" }, /retention is workqueue/],
  [{ retention: "interest" }, /retention is interest/],
  [{ max_msgs_per_subject: 10 }, /max_msgs_per_subject/],
  [{ allow_rollup_hdrs: true }, /allow_rollup_hdrs/],
  [{ no_ack: true }, /no_ack/],
  [{ duplicate_window: SECOND_NS }, /duplicate_window/],
  [{ subjects: ["other.*"] }, /subjects/],
  [{ subjects: undefined, mirror: { name: "elsewhere" } }, /subjects|mirrors/],
  [{ sources: [{ name: "elsewhere" }] }, /sources/],
  [
    { discard: "new", discard_new_per_subject: true, max_msgs_per_subject: 1 },
    /max_msgs_per_subject|discard_new_per_subject/,
  ],
];

/** What only newer servers know. */
const NEWER: readonly (readonly [change: Record<string, unknown>, reason: RegExp])[] = [
  [{ allow_msg_ttl: true }, /allow_msg_ttl/],
  [{ subject_delete_marker_ttl: SECOND_NS }, /subject_delete_marker_ttl/],
  [{ allow_msg_counter: true }, /allow_msg_counter/],
  [{ allow_msg_schedules: true }, /allow_msg_schedules/],
  [{ subject_transform: { src: "a", dest: "b" } }, /subject_transform/],
  [{ persist_mode: "async" }, /persist_mode/],
  [{ mirror: { name: "elsewhere" } }, /mirrors/],
  [{ sealed: true }, /sealed/],
];

test(
  "JetStream: a stream that could lose entries from the middle is refused, with the reason",
  () =>
    withNats(async ({ server, open }) => {
      const operator = await server.connect();
      await askJetStream(operator, "STREAM.CREATE.elsewhere", { name: "elsewhere" });
      for (const [index, [change, reason]] of UNSAFE.entries()) {
        const name = `unsafe-${index}`;
        await askJetStream(operator, `STREAM.CREATE.${name}`, { ...good(name), ...change });
        const error = await assertRejects(() => open({ name }), JournalError);
        assertEquals(error.fault, "unsafe", JSON.stringify(change));
        assert(reason.test(error.message), `${error.message} should say ${reason}`);
        await askJetStream(operator, `STREAM.DELETE.${name}`);
      }
    }),
  { needs: [NATS], foreignTimers: true },
);

test("JetStream: what newer servers could do to the middle of a stream is refused too", () => {
  const base = { ...good("n"), name: "n", subjects: ["n.*"], duplicate_window: 120 * SECOND_NS };
  assertEquals(hazard(base), null);
  for (const [change, reason] of NEWER) {
    const why = hazard({ ...base, ...change });
    assert(why !== null && reason.test(why), `${JSON.stringify(change)}: ${why}`);
  }
});

test(
  "JetStream: a stream that becomes unsafe while it is open ends the tails and is refused",
  () =>
    withNats(async ({ server, open }) => {
      const journal = await open({ name: "later" });
      const { epoch } = await journal.window();
      const { signal } = new AbortController();
      const next = journal.tail({ epoch, after: 0, signal })[Symbol.asyncIterator]().next();
      const ended = assertRejects(() => next, JournalError);
      const operator = await server.connect();
      const config = {
        ...good("later"),
        duplicate_window: 120 * SECOND_NS,
        max_msgs_per_subject: 1,
      };
      await askJetStream(operator, "STREAM.UPDATE.later", config);
      assertEquals((await ended).fault, "unsafe");
      assertEquals((await assertRejects(() => journal.window(), JournalError)).fault, "unsafe");
    }),
  { needs: [NATS], foreignTimers: true },
);

test(
  "JetStream: an operator's stream keeps its bounds, unless the options name some",
  () =>
    withNats(async ({ server, open }) => {
      const operator = await server.connect();
      const limits = async (): Promise<readonly number[]> => {
        const { config } = await askJetStream<{
          config: { max_age: number; max_msgs: number; duplicate_window: number };
        }>(operator, "STREAM.INFO.kept");
        return [config.max_age, config.max_msgs, config.duplicate_window].map((n) => n / SECOND_NS);
      };
      await askJetStream(operator, "STREAM.CREATE.kept", { ...good("kept"), description: "mine" });
      await open({ name: "kept" });
      assertEquals(await limits(), [3600, -1 / SECOND_NS, 120]);
      await open({ name: "kept", retention: { maxEntries: 9, maxAgeMs: 30_000 } });
      assertEquals(await limits(), [30, 9 / SECOND_NS, 30]);
      const { config } = await askJetStream<{ config: { description: string } }>(
        operator,
        "STREAM.INFO.kept",
      );
      assertEquals(config.description, "mine");
    }),
  { needs: [NATS], foreignTimers: true },
);

test(
  "JetStream: many pods that open a new journal at once share one epoch, and the server lives",
  () =>
    withNats(async ({ server, open }) => {
      for (let round = 0; round < 12; round++) {
        const name = `race-${round}`;
        const journals = await Promise.all(Array.from({ length: 4 }, () => open({ name })));
        const windows = await Promise.all(journals.map((journal) => journal.window()));
        assertEquals(new Set(windows.map(({ epoch }) => epoch)).size, 1);
        await Promise.all(journals.map((journal) => firstOf(journal)));
      }
      await askJetStream(await server.connect(), "INFO");
    }),
  { needs: [NATS], foreignTimers: true },
);

/** Appends one event and follows the journal to its first. */
async function firstOf(journal: Journal): Promise<void> {
  const { epoch } = await journal.window();
  await journal.append(event(1));
  const { signal } = new AbortController();
  for await (const _batch of journal.tail({ epoch, after: 0, signal })) return;
}

test(
  "JetStream: options that make no sense are refused, each by its name",
  () =>
    withNats(async ({ open }) => {
      const wrong: readonly (readonly [Partial<JetStreamJournalOptions>, string])[] = [
        [{ name: "" }, "name"],
        [{ name: "a.b" }, "name"],
        [{ name: "a b" }, "name"],
        [{ name: ">" }, "name"],
        [{ name: "x".repeat(65) }, "name"],
        [{ replicas: 0 }, "replicas"],
        [{ replicas: 6 }, "replicas"],
        [{ appendTimeoutMs: 0 }, "appendTimeoutMs"],
        [{ appendTimeoutMs: 30_001 }, "appendTimeoutMs"],
        [{ requestTimeoutMs: Number.NaN }, "requestTimeoutMs"],
        [{ retention: { maxEntries: -1 } }, "retention.maxEntries"],
      ];
      for (const [options, option] of wrong) {
        const error = await assertRejects(() => open({ name: "ok", ...options }), ConfigError);
        assertEquals(error.option, option);
      }
    }),
  { needs: [NATS], foreignTimers: true },
);

test(
  "JetStream: with a closed connection opening is refused as unavailable",
  () =>
    withNats(async ({ server }) => {
      const connection = await server.connect();
      await connection.close();
      const client = { connection, headers };
      const error = await assertRejects(
        () => openJetStreamJournal(client, { name: "closed" }),
        JournalError,
      );
      assertEquals(error.fault, "unavailable");
    }),
  { needs: [NATS], foreignTimers: true },
);

test(
  "JetStream: no consumer is left behind by pages, counts and tails",
  () =>
    withNats(async ({ server, open }) => {
      const journal = await open({ name: "tidy" });
      for (let n = 0; n < 20; n++) await journal.append(event(n, `t${n % 3}`));
      const { epoch } = await journal.window();
      for (const topics of [null, ["t0"], ["t1", "t2"]]) {
        await journal.read({ after: 3, topics, limit: 4 });
        await journal.count({ after: 3, upTo: 9, topics }, 100);
      }
      const abort = new AbortController();
      const left = journal.tail({ epoch, after: 0, signal: abort.signal });
      for await (const _batch of left) break;
      const waiting = journal.tail({ epoch, after: 0, signal: abort.signal })
        [Symbol.asyncIterator]();
      await waiting.next();
      // Not asked for more: its reader is elsewhere when it is aborted.
      abort.abort();
      await noConsumers(server, "tidy");
      const open2 = journal.tail({ epoch, after: 0, signal: new AbortController().signal });
      await open2[Symbol.asyncIterator]().next();
      await journal.close();
      await noConsumers(server, "tidy");
    }),
  { needs: [NATS], foreignTimers: true },
);

async function noConsumers(server: NatsBench["server"], name: string): Promise<void> {
  const operator = await server.connect();
  await eventually(async () => {
    const { state } = await askJetStream<{ state: { consumer_count: number } }>(
      operator,
      `STREAM.INFO.${name}`,
    );
    return state.consumer_count === 0;
  }, { what: "no consumer to be left" });
}
