import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { createDigestClient, type DigestClientOptions } from "../../../src/client/digest.ts";
import type { LifecycleRecord } from "../../../src/client/records.ts";
import type { VersionSnapshot } from "../../../src/client/versions.ts";
import { ConfigError, DigestStatusError } from "../../../src/errors.ts";
import { test } from "../../support/test.ts";
import {
  changedOf,
  EPOCH,
  fated,
  honest,
  many,
  removedOf,
  snapshotOf,
  tap,
} from "./digest_server.ts";

const URL_ = "http://localhost/digest";
const OTHER = "0123456789abcdef";
const nothing: VersionSnapshot = { epoch: EPOCH, subjects: [] };

function client(options: Partial<DigestClientOptions>): ReturnType<typeof createDigestClient> {
  return createDigestClient({ url: URL_, ...options });
}

test("whatever is held and whatever became of it, the result says exactly that", async () => {
  await fc.assert(
    fc.asyncProperty(fated, fc.integer({ min: 1, max: 6 }), async (fates, maxSubjects) => {
      const { fetch, posts, atOnce } = tap(({ body }) => honest(fates, body));
      const records: LifecycleRecord[] = [];
      const onLifecycle = (record: LifecycleRecord): void => void records.push(record);
      const result = await client({ fetch, maxSubjects, onLifecycle }).check(snapshotOf(fates));
      const changed = changedOf(fates);
      const removed = removedOf(fates);
      assertEquals<unknown>(result, {
        epoch: EPOCH,
        floor: "3",
        head: "9",
        mustRefetch: false,
        changed,
        removed,
      });
      // Each subject was asked about once, in order, in no more requests than needed, one by one.
      assertEquals(posts.flatMap(({ body }) => body.subjects), [...snapshotOf(fates).subjects]);
      assertEquals(posts.length, Math.max(1, Math.ceil(fates.length / maxSubjects)));
      assertEquals(atOnce(), 1);
      const counts = { changed: changed.length, removed: removed.length };
      assertEquals(records, [{ kind: "digest", ...counts, mustRefetch: false }]);
    }),
    { numRuns: 150 },
  );
});

test("a request is a POST of JSON with the application's headers, read afresh each time", async () => {
  const { fetch, posts } = tap(({ body }) => honest(many(3), body));
  let calls = 0;
  const check = client({
    fetch,
    maxSubjects: 1,
    credentials: "include",
    headers: () => Promise.resolve({ Authorization: `Bearer ${++calls}`, "content-type": "x/y" }),
  });
  await check.check(snapshotOf(many(3)));
  assertEquals(posts.map(({ headers }) => headers.get("Authorization")), [
    "Bearer 1",
    "Bearer 2",
    "Bearer 3",
  ]);
  for (const { url, init, headers, body } of posts) {
    assertEquals([url, init.method, init.credentials], [URL_, "POST", "include"]);
    assertEquals([headers.get("Content-Type"), body.epoch], ["application/json", EPOCH]);
  }
  const plain = tap(({ body }) => honest(many(1), body));
  await client({ fetch: plain.fetch, url: new URL(URL_) }).check(snapshotOf(many(1)));
  // A runtime without credentials refuses even to hear of them.
  assertEquals("credentials" in (plain.posts[0]?.init ?? {}), false);
  assertEquals(plain.posts[0]?.url, URL_);
});

test("an object of headers may change between two checks", async () => {
  const { fetch, posts } = tap(({ body }) => honest([], body));
  const headers = { "X-Tag": "1" };
  const check = client({ fetch, headers });
  await check.check(nothing);
  headers["X-Tag"] = "2";
  await check.check(nothing);
  assertEquals(posts.map((posted) => posted.headers.get("X-Tag")), ["1", "2"]);
});

test("nothing held is asked about once, and the answer is the server's whatever the epoch", async () => {
  for (const epoch of [EPOCH, OTHER, ""]) {
    const { fetch, posts } = tap(({ body }) => honest([], body));
    const result = await client({ fetch }).check({ epoch, subjects: [] });
    assertEquals(result, {
      epoch: EPOCH,
      floor: "3",
      head: "9",
      mustRefetch: false,
      changed: [],
      removed: [],
    });
    assertEquals(posts.map(({ body }) => body), [{ epoch, subjects: [] }]);
  }
});

test("without an epoch, or with a foreign one, all must be fetched, and nothing more is asked", async () => {
  for (const epoch of ["", OTHER]) {
    const fates = many(5, () => "changed");
    const { fetch, posts } = tap(({ body }) => honest(fates, body));
    const records: LifecycleRecord[] = [];
    const onLifecycle = (record: LifecycleRecord): void => void records.push(record);
    const check = client({ fetch, maxSubjects: 2, onLifecycle });
    const result = await check.check(snapshotOf(fates, epoch));
    // Where the server stands is its own word, and kept.
    assertEquals(result, {
      epoch: EPOCH,
      floor: "3",
      head: "9",
      mustRefetch: true,
      changed: [],
      removed: [],
    });
    assertEquals(posts.length, 1);
    assertEquals(records, [{ kind: "digest", changed: 0, removed: 0, mustRefetch: true }]);
  }
});

test("a refetch that comes late takes back what earlier batches found", async () => {
  const fates = many(6, (i) => i < 2 ? "changed" : "gone");
  const { fetch, posts } = tap(({ body }, i) => {
    const answer = honest(fates, body);
    return i < 1 ? answer : { ...answer, checked: 0, must_refetch: true, changed: [], removed: [] };
  });
  const result = await client({ fetch, maxSubjects: 2 }).check(snapshotOf(fates));
  assertEquals([result.mustRefetch, result.changed, result.removed], [true, [], []]);
  assertEquals(posts.length, 2);
});

test("of several batches the highest floor counts, and the lowest head", async () => {
  const floors = ["9", "10", "2"];
  const heads = ["101", "99", "9007199254740991"];
  const { fetch } = tap(({ body }, i) => ({
    ...honest(many(3), body),
    floor: floors[i] ?? "",
    head: heads[i] ?? "",
  }));
  const { floor, head } = await client({ fetch, maxSubjects: 1 }).check(snapshotOf(many(3)));
  assertEquals([floor, head], ["10", "99"]);
});

test("a status other than 200 is an error with that status, and the body is let go", async () => {
  for (const status of [201, 204, 400, 401, 403, 413, 429, 500, 503]) {
    let cancelled = false;
    const body = new ReadableStream({
      cancel() {
        cancelled = true;
      },
    });
    const records: LifecycleRecord[] = [];
    const { fetch, posts } = tap(() => new Response(status === 204 ? null : body, { status }));
    const onLifecycle = (record: LifecycleRecord): void => void records.push(record);
    const check = client({ fetch, maxSubjects: 1, onLifecycle });
    const error = await assertRejects(() => check.check(snapshotOf(many(3))), DigestStatusError);
    assertEquals([error.status, error.code, posts.length], [status, "digest_status", 1]);
    assertEquals(cancelled, status !== 204);
    // Nothing was answered.
    assertEquals(records, []);
  }
});

test("a network that fails is the caller's to know, before the answer and in its midst", async () => {
  const failure = new TypeError("network error");
  const early = client({ fetch: () => Promise.reject(failure) });
  assertEquals(await assertRejects(() => early.check(nothing)), failure);
  const broken = new ReadableStream({
    pull(controller) {
      controller.error(failure);
    },
  });
  const late = client({ fetch: () => Promise.resolve(new Response(broken)) });
  assertEquals(await assertRejects(() => late.check(nothing)), failure);
});

test("a snapshot that no map could hold is refused before anything is sent", async () => {
  const { fetch, posts } = tap(({ body }) => honest(many(300), body));
  const good = many(300).map(({ kind, ref, version }) => ({ kind, ref, version }));
  const last = { kind: "chat", ref: "c299", version: "1" };
  const cases: readonly (readonly [VersionSnapshot, string])[] = [
    [{ epoch: "x", subjects: good }, "epoch"],
    [{ epoch: EPOCH, subjects: [...good, last] }, "twice"],
    [{ epoch: EPOCH, subjects: [...good, { ...last, kind: "A" }] }, "kind"],
    [{ epoch: EPOCH, subjects: [...good, { ...last, ref: "r".repeat(600_000) }] }, "ref"],
    [{ epoch: EPOCH, subjects: [...good, { ...last, ref: "\udc00" }] }, "lone surrogate"],
    [{ epoch: EPOCH, subjects: [...good, { ...last, ref: "new", version: "" }] }, "version"],
  ];
  for (const [snapshot, word] of cases) {
    const error = await assertRejects(() => client({ fetch }).check(snapshot), TypeError);
    assertStringIncludes(error.message, word);
  }
  assertEquals(posts.length, 0);
});

test("headers that cannot be sent are refused, and nothing is sent", async () => {
  const { fetch, posts } = tap(({ body }) => honest([], body));
  const check = client({ fetch, headers: { "X Y": "1" } });
  await assertRejects(() => check.check(nothing), TypeError, "not a token");
  const trouble = new Error("no ticket");
  const failing = client({ fetch, headers: () => Promise.reject(trouble) });
  assertEquals(await assertRejects(() => failing.check(nothing)), trouble);
  assertEquals(posts.length, 0);
});

test("bounds that are no whole numbers of at least 1 are refused at construction", () => {
  for (const value of [0, -1, 1.5, NaN, Infinity, 2_147_483_648]) {
    const error = assertThrows(() => client({ timeoutMs: value }), ConfigError);
    assertEquals(error.option, "timeoutMs");
  }
  for (const value of [0, -1, 1.5, NaN, Infinity]) {
    const error = assertThrows(() => client({ maxSubjects: value }), ConfigError);
    assertEquals(error.option, "maxSubjects");
  }
});

test("a record's listener that throws does not cost the result", async () => {
  const reported: unknown[] = [];
  const trouble = new Error("on purpose");
  const own = Object.getOwnPropertyDescriptor(globalThis, "reportError");
  Object.defineProperty(globalThis, "reportError", {
    configurable: true,
    value: (error: unknown) => reported.push(error),
  });
  try {
    const { fetch } = tap(({ body }) => honest([], body));
    const check = client({
      fetch,
      onLifecycle() {
        throw trouble;
      },
    });
    assertEquals((await check.check(nothing)).mustRefetch, false);
    assertEquals(reported, [trouble]);
  } finally {
    if (own === undefined) Reflect.deleteProperty(globalThis, "reportError");
    else Object.defineProperty(globalThis, "reportError", own);
  }
});

test("two checks at once do not touch each other", async () => {
  const one = many(4, () => "changed");
  const two = many(4, () => "gone");
  const { fetch } = tap(({ body }) => honest(body.subjects[0]?.version === "1" ? one : two, body));
  const check = client({ fetch, maxSubjects: 1 });
  const other = two.map((fate) => ({ ...fate, version: "9" }));
  const [first, second] = await Promise.all([
    check.check(snapshotOf(one)),
    check.check(snapshotOf(other)),
  ]);
  assertEquals([first.changed.length, first.removed.length], [4, 0]);
  assertEquals([second.changed.length, second.removed.length], [0, 4]);
  assert(!first.mustRefetch && !second.mustRefetch);
});
