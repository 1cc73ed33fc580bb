import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { createDigestClient, type DigestResult } from "../../../src/client/digest.ts";
import { maxAnswerBytes } from "../../../src/client/digest_answer.ts";
import { cutBatches } from "../../../src/client/digest_batches.ts";
import { test } from "../../support/test.ts";
import {
  type DigestBody,
  EPOCH,
  type Fated,
  fated,
  honest,
  many,
  newer,
  snapshotOf,
  tap,
} from "./digest_server.ts";

const encoder = new TextEncoder();

/** What a check makes of an answer that says nothing that could be believed. */
const UNTRUSTED: DigestResult = {
  epoch: "",
  floor: "0",
  head: "0",
  mustRefetch: true,
  changed: [],
  removed: [],
};

type Json = Record<string, unknown>;
type Entry = Readonly<Record<string, unknown>>;
type Corruption = (answer: Json, asked: DigestBody) => unknown;

const without = (name: string): Corruption => ({ [name]: _, ...rest }) => rest;
const replaced = (name: string, ...values: unknown[]): Corruption[] =>
  values.map((value) => (answer) => ({ ...answer, [name]: value }));

/** What the answer says of all but the first subject that was asked about, and then this of the first. */
const instead =
  (lists: (first: Entry) => Readonly<Record<string, readonly unknown[]>>): Corruption =>
  (answer, { subjects }) => {
    const first = { kind: subjects[0]?.kind, ref: subjects[0]?.ref };
    const isFirst = (entry: Entry): boolean =>
      entry["kind"] === first.kind && entry["ref"] === first.ref;
    const { changed = [], removed = [] } = lists({ ...first, held: subjects[0]?.version });
    const rest = (name: string): Entry[] =>
      (answer[name] as readonly Entry[]).filter((entry) => !isFirst(entry));
    return {
      ...answer,
      changed: [...changed, ...rest("changed")],
      removed: [...rest("removed"), ...removed],
    };
  };
const change = ({ kind, ref, held }: Entry, more: Json = {}): Entry => (
  { kind, ref, version: newer(String(held)), ...more }
);
const removal = ({ kind, ref }: Entry, more: Json = {}): Entry => (
  { kind, ref, reason: "gone", ...more }
);
const stranger = { kind: "chat", ref: "nobody asked", version: "1", reason: "gone" };

/** Each makes an honest answer to at least one subject one that does not fit it. */
const CORRUPTIONS: readonly Corruption[] = [
  ...["epoch", "floor", "head", "checked", "must_refetch", "changed", "removed"].map(without),
  ...replaced("epoch", "0123456789abcdef", "", EPOCH.toUpperCase(), `${EPOCH}0`, 7, null, [EPOCH]),
  ...replaced("floor", 3, "-1", "01", "", "9007199254740992", "3.0", null),
  ...replaced("head", 9, "+9", "09", "", "9".repeat(17), "1e3", {}),
  ...replaced("must_refetch", "false", 0, null, [], "true", 1),
  ...replaced("changed", null, {}, "", 0, [null], [[]], ["chat"], [7], [{}], [stranger]),
  ...replaced("removed", null, {}, "", 0, [null], [[]], ["chat"], [7], [{}], [stranger]),
  (answer) => ({ ...answer, checked: Number(answer["checked"]) + 1 }),
  (answer) => ({ ...answer, checked: Number(answer["checked"]) - 1 }),
  (answer) => ({ ...answer, checked: String(answer["checked"]) }),
  (answer) => [answer],
  (answer) => ({ answer }),
  () => null,
  () => "text",
  () => [],
  instead((first) => ({ changed: [change(first), change(first)] })),
  instead((first) => ({ removed: [removal(first), removal(first)] })),
  instead((first) => ({ changed: [change(first)], removed: [removal(first)] })),
  ...["", "~".repeat(65), "é", "a\n", 2, null, undefined, {}].map((version) =>
    instead((first) => ({ changed: [change(first, { version })] }))
  ),
  // Changed to what it was.
  instead((first) => ({ changed: [change(first, { version: first["held"] })] })),
  ...["lost", "", null, undefined, 7].map((reason) =>
    instead((first) => ({ removed: [removal(first, { reason })] }))
  ),
  instead((first) => ({ changed: [change(first, { kind: "other" })] })),
  instead((first) => ({ changed: [change(first, { kind: [first["kind"]] })] })),
  instead((first) => ({ removed: [removal(first, { ref: `${first["ref"]} ` })] })),
  // What only looks like a text, or cannot even be made one.
  instead((first) => ({ removed: [removal(first, { ref: [first["ref"]] })] })),
  instead((first) => ({ changed: [change(first, { kind: { toString: 1, valueOf: 1 } })] })),
  instead((first) => ({ removed: [removal(first, { ref: { toString: 1, valueOf: 1 } })] })),
];

/** Each makes the bytes of an honest answer something else. */
const GARBLINGS: readonly ((bytes: Uint8Array, at: number, bound: number) => Uint8Array)[] = [
  (bytes, at) => bytes.slice(0, at),
  (bytes) => encoder.encode(`${new TextDecoder().decode(bytes)}}`),
  () => encoder.encode("<!doctype html><title>Sign in</title>"),
  // Within a string it stays JSON, but for not being UTF-8.
  (bytes, at) => Uint8Array.of(...bytes.slice(0, at), 0xff, ...bytes.slice(at)),
  (bytes) => encoder.encode(new TextDecoder().decode(bytes).replace(/[0-9a-f]{16}/, "\u0000$&")),
  // Not even where nobody looks.
  (bytes) =>
    Uint8Array.of(
      ...encoder.encode('{"later":"'),
      0xc3,
      ...encoder.encode('",'),
      ...bytes.slice(1),
    ),
  (bytes) => Uint8Array.of(...bytes, 0xe2, 0x82),
  (bytes, _, bound) => {
    const padded = new Uint8Array(bound + 1).fill(0x20);
    padded.set(bytes);
    return padded;
  },
];

/** Asks in batches, one of which is answered wrongly. */
async function askWith(
  fates: readonly Fated[],
  maxSubjects: number,
  wrong: number,
  corrupt: (answer: Json, asked: DigestBody) => BodyInit,
): Promise<DigestResult> {
  const { fetch, posts } = tap(({ body }, i) => {
    const answer = honest(fates, body);
    return i === wrong ? new Response(corrupt(answer, body)) : answer;
  });
  const client = createDigestClient({ url: "http://localhost/", fetch, maxSubjects });
  const result = await client.check(snapshotOf(fates));
  if (result.mustRefetch) assertEquals(posts.length, wrong + 1, "it stops there");
  return result;
}

const some = fated.filter((fates) => fates.length > 0);

test("an answer that does not fit its batch means refetch, whichever batch, and nothing of it is kept", async () => {
  const place = fc.integer({ min: 1, max: 6 });
  for (const [i, corrupt] of CORRUPTIONS.entries()) {
    await fc.assert(
      fc.asyncProperty(some, place, fc.nat(), async (fates, maxSubjects, seed) => {
        const wrong = seed % Math.ceil(fates.length / maxSubjects);
        const result = await askWith(
          fates,
          maxSubjects,
          wrong,
          (answer, asked) => JSON.stringify(corrupt(answer, asked)),
        );
        assertEquals(result, UNTRUSTED, `corruption ${i}: ${corrupt}`);
      }),
      { numRuns: 15 },
    );
  }
});

test("bytes that are no JSON, no UTF-8, or too many mean refetch", async () => {
  for (const [i, garble] of GARBLINGS.entries()) {
    await fc.assert(
      fc.asyncProperty(some, fc.nat(), async (fates, seed) => {
        const [batch] = cutBatches(snapshotOf(fates), 256);
        const bound = batch === undefined ? 0 : maxAnswerBytes(batch);
        const result = await askWith(fates, 256, 0, (answer) => {
          const bytes = encoder.encode(JSON.stringify(answer));
          return new Uint8Array(garble(bytes, seed % bytes.length, bound));
        });
        assertEquals(result, UNTRUSTED, `garbling ${i}`);
      }),
      { numRuns: 30 },
    );
  }
  const empty = await askWith(many(1), 1, 0, () => "");
  assertEquals(empty, UNTRUSTED);
  const { fetch } = tap(() => new Response(null));
  const client = createDigestClient({ url: "http://localhost/", fetch });
  assertEquals(await client.check(snapshotOf([])), UNTRUSTED);
});

test("whatever the answer is, it is never an exception, and never lists what was not asked", async () => {
  const flips = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(some, flips, async (fates, changes) => {
      const result = await askWith(fates, 256, 0, (answer) => {
        const bytes = encoder.encode(JSON.stringify(answer));
        for (const [at, by] of changes) {
          const i = at % bytes.length;
          bytes[i] = (bytes[i] ?? 0) ^ by;
        }
        return new Uint8Array(bytes);
      });
      const listed = [...result.changed, ...result.removed].map(({ kind, ref }) =>
        fates.findIndex((one) => one.kind === kind && one.ref === ref)
      );
      assert(!listed.includes(-1), "only what was asked");
      assertEquals(new Set(listed).size, listed.length, "each once");
      assert(!result.mustRefetch || listed.length === 0);
    }),
    { numRuns: 500 },
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.json(), fc.string()), async (text) => {
      assertEquals(await askWith(many(2), 2, 0, () => text), UNTRUSTED);
    }),
    { numRuns: 200 },
  );
});

test("a kind with a colon in it is not another subject's", async () => {
  const fates: readonly Fated[] = [{ kind: "a", ref: "b:c", version: "1", fate: "changed" }];
  const result = await askWith(
    fates,
    1,
    0,
    (answer) => JSON.stringify({ ...answer, changed: [{ kind: "a:b", ref: "c", version: "2" }] }),
  );
  assertEquals(result, UNTRUSTED);
});

test("a refetch that the server asks for is believed whatever its lists say, with its position", async () => {
  const lists = { checked: 7, changed: [stranger], removed: "none" };
  const result = await askWith(
    many(3),
    3,
    0,
    (answer) =>
      JSON.stringify({ ...answer, ...lists, must_refetch: true, epoch: "0123456789abcdef" }),
  );
  assertEquals(result, { ...UNTRUSTED, epoch: "0123456789abcdef", floor: "3", head: "9" });
});

test("an answer with unknown fields, another order and other escapes is understood", async () => {
  const fates = many(
    6,
    (i) => (["changed", "gone", "same"] as const)[i % 3] ?? "same",
  );
  const result = await askWith(fates, 6, 0, (answer) => {
    const { changed, removed, ...rest } = answer as { changed: Entry[]; removed: Entry[] };
    const more = { later: { nested: [1] } };
    const lists = {
      removed: removed.toReversed().map((entry) => ({ ...more, ...entry })),
      changed: changed.toReversed().map((entry) => ({ ...entry, ...more })),
    };
    const text = JSON.stringify({ ...more, ...lists, ...rest }, null, 2);
    // As an encoder writes that keeps to ASCII, and then some.
    return text.replace(/"c(\d)"/g, (_, digit) => `"\\u0063\\u003${digit}"`);
  });
  assertEquals(result.mustRefetch, false);
  assertEquals(result.changed.map(({ ref }) => ref), ["c3", "c0"]);
  assertEquals(result.removed.map(({ ref }) => ref), ["c4", "c1"]);
});

test("an answer is understood in whatever pieces it comes", async () => {
  await fc.assert(
    fc.asyncProperty(some, fc.integer({ min: 1, max: 7 }), async (fates, length) => {
      const pieces = await askWith(fates, 256, 0, (answer) => {
        const bytes = encoder.encode(JSON.stringify(answer));
        let at = 0;
        return new ReadableStream<Uint8Array>({
          pull(controller) {
            if (at >= bytes.length) return controller.close();
            controller.enqueue(bytes.slice(at, at += length));
          },
        });
      });
      const whole = await askWith(fates, 256, 0, (answer) => JSON.stringify(answer));
      assertEquals(pieces, whole);
      assertEquals(whole.mustRefetch, false);
    }),
    { numRuns: 30 },
  );
});

test("the bound of an answer is met by the most wasteful honest one, and is exact", async () => {
  const fates: readonly Fated[] = Array.from({ length: 50 }, (_, i) => ({
    kind: `k${String(i).padStart(31, "0")}`,
    ref: "a".repeat(512),
    version: "1",
    fate: "changed",
  }));
  const [batch] = cutBatches(snapshotOf(fates), 50);
  assert(batch !== undefined);
  const bound = maxAnswerBytes(batch);
  const wasteful = (answer: Json): string => {
    const changed = fates.map(({ kind, ref }) => ({ kind, ref, version: "2".repeat(64) }));
    // Every character of every text as an escape, and four spaces for each level.
    return JSON.stringify({ ...answer, changed }, null, 4).replace(
      /: "([a-z0-9]+)"/g,
      (_, text: string) =>
        `: "${
          [...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")
        }"`,
    );
  };
  const padded = (bytes: number) => (answer: Json): string => wasteful(answer).padEnd(bytes);
  assertEquals((await askWith(fates, 50, 0, padded(0))).changed.length, 50);
  assertEquals((await askWith(fates, 50, 0, padded(bound))).changed.length, 50);
  assertEquals(await askWith(fates, 50, 0, padded(bound + 1)), UNTRUSTED);
});

test("an answer without an end is given up at the bound, not read on", async () => {
  let pulled = 0;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled++;
      controller.enqueue(new Uint8Array(1024).fill(0x20));
    },
    cancel() {
      cancelled = true;
    },
  }, { highWaterMark: 0 });
  assertEquals(await askWith(many(1), 1, 0, () => body), UNTRUSTED);
  assert(cancelled);
  assert(pulled < 10, `${pulled} KiB were read`);
});
