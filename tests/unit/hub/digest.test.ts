import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { digestHandler, type Resolver, type SubjectState } from "../../../src/hub/digest.ts";
import { test } from "../../support/test.ts";
import { asked, EPOCH, home, same, send, subject, unasked } from "./digest_requests.ts";
import { bench, RING } from "./harness.ts";

const good = subject(1);

test("an answer says what changed and what was removed, in the order asked", async () => {
  const states: SubjectState[] = [
    { kind: "chat", ref: "c4", version: "", status: "forbidden" },
    { kind: "chat", ref: "c1", version: "9", status: "" },
    { kind: "chat", ref: "c2", version: "1", status: "" },
    { kind: "chat", ref: "c3", version: "whatever", status: "gone" },
  ];
  const { status, headers, body } = await asked([1, 2, 3, 4].map((i) => subject(i)), () => states);
  assertEquals([status, headers.get("Content-Type")], [200, "application/json"]);
  assertEquals(body, {
    epoch: EPOCH,
    floor: "3",
    head: "9",
    checked: 4,
    must_refetch: false,
    changed: [{ kind: "chat", ref: "c1", version: "9" }],
    removed: [
      { kind: "chat", ref: "c3", reason: "gone" },
      { kind: "chat", ref: "c4", reason: "forbidden" },
    ],
  });
});

test("whatever is held and whatever is current, the lists are their difference", async () => {
  const status = fc.constantFrom("", "", "gone", "forbidden");
  const pair = fc.tuple(fc.constantFrom("1", "2"), fc.constantFrom("1", "2"), status);
  await fc.assert(
    fc.asyncProperty(fc.array(pair, { maxLength: 20 }), fc.nat(), async (pairs, seed) => {
      const held = pairs.map(([version], i) => subject(i, version));
      const states = pairs.map(([, version, was], i) => ({
        ...subject(i, version),
        status: was as SubjectState["status"],
      }));
      // In any order: an answer is matched by key.
      states.sort((a, b) => (a.ref.length * seed) % 7 - (b.ref.length * seed) % 7);
      const { body } = await asked(held, () => Promise.resolve(states));
      const of = (keep: (i: number) => boolean): number[] =>
        pairs.flatMap((_, i) => keep(i) ? [i] : []);
      const refs = (list: unknown): string[] => (list as { ref: string }[]).map(({ ref }) => ref);
      assertEquals(body.must_refetch, false);
      assertEquals(body.checked, pairs.length);
      const changed = of((i) => pairs[i]?.[2] === "" && pairs[i]?.[0] !== pairs[i]?.[1]);
      assertEquals(refs(body.changed), changed.map((i) => `c${i}`));
      assertEquals(refs(body.removed), of((i) => pairs[i]?.[2] !== "").map((i) => `c${i}`));
    }),
    { numRuns: 50 },
  );
});

test("an absent epoch, or another one, means refetch, and the resolver is not asked", async () => {
  const handler = digestHandler(home, unasked);
  const subjects = [subject(1)];
  for (
    const request of [{ subjects }, { epoch: "", subjects }, { epoch: "f".repeat(16), subjects }]
  ) {
    const { status, body } = await send(handler, request);
    assertEquals([status, body.must_refetch, body.checked], [200, true, 0]);
    assertEquals([body.changed, body.removed, body.epoch], [[], [], EPOCH]);
  }
});

test("a resolver that fails means refetch, and is told to a person", async () => {
  const failures: unknown[] = [];
  const telling = { ...home, failed: (error: unknown) => void failures.push(error) };
  const trouble = new Error("no database");
  const faults: Resolver[] = [() => Promise.reject(trouble), () => {
    throw trouble;
  }];
  for (const resolve of faults) {
    const handler = digestHandler(telling, resolve);
    const { status, body } = await send(handler, { epoch: EPOCH, subjects: [subject(1)] });
    assertEquals([status, body.must_refetch, body.checked, body.changed], [200, true, 0, []]);
  }
  assertEquals(failures, [trouble, trouble]);
});

test("an answer that does not match the request by key means refetch", async () => {
  const state = (i: number): SubjectState => ({ ...subject(i, "2"), status: "" });
  const answers: Readonly<Record<string, unknown>> = {
    missing: [state(1)],
    unrequested: [state(1), state(2), state(3)],
    "another in its place": [state(1), state(3)],
    duplicate: [state(1), state(1)],
    "duplicate beside all": [state(1), state(2), state(2)],
    "another kind": [state(1), { ...state(2), kind: "other" }],
    "an unknown status": [state(1), { ...state(2), status: "lost" }],
    "no version": [state(1), { kind: "chat", ref: "c2", status: "" }],
    "no list": { states: [] },
    nothing: undefined,
    "no object": [state(1), null],
  };
  for (const [what, states] of Object.entries(answers)) {
    const resolve = (() => states) as unknown as Resolver;
    const { status, body } = await asked([subject(1), subject(2)], resolve);
    assertEquals([status, body.must_refetch, body.checked], [200, true, 0], what);
    assertEquals([body.changed, body.removed], [[], []], what);
  }
});

test("no subjects are answered without asking anybody", async () => {
  const { status, body } = await asked([], unasked);
  assertEquals([status, body.checked, body.must_refetch], [200, 0, false]);
});

test("what is not a POST of JSON is refused, in that order", async () => {
  const handler = digestHandler(home, unasked);
  const get = await send(handler, "", { method: "GET" });
  assertEquals([get.status, get.body.code, get.headers.get("Allow")], [
    405,
    "digest_method",
    "POST",
  ]);
  for (const type of ["text/plain", "application/jsonp", "application/json2", "text/json", ""]) {
    const { status, body } = await send(handler, "not even JSON", { type });
    assertEquals([status, body.code], [415, "digest_content_type"], type);
  }
  for (
    const type of ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json ;x=y"]
  ) {
    assertEquals(
      (await send(digestHandler(home, same), { subjects: [] }, { type })).status,
      200,
      type,
    );
  }
});

test("a body over the cap is refused while it is read, whatever its length header says", async () => {
  const handler = digestHandler(home, unasked, { maxBodyBytes: 1000 });
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled++;
      controller.enqueue(new Uint8Array(300).fill(0x20));
    },
  });
  const headers = { "Content-Type": "application/json", "Content-Length": "2" };
  // `duplex` is not in every runtime's types.
  const init = { method: "POST", headers, body, duplex: "half" };
  const response = await handler(new Request("http://localhost/digest", init));
  assertEquals([response.status, (await response.json()).code], [413, "digest_too_large"]);
  assert(pulled <= 8, `${pulled} chunks were asked for`);
  const padding = (bytes: number): string => '{"subjects":[]}'.padEnd(bytes);
  assertEquals((await send(handler, padding(1000))).status, 200);
  assertEquals((await send(handler, padding(1001))).status, 413);
});

test("the largest batch of the most awkward text that JSON.stringify writes is not too large", async () => {
  for (const ref of ['"'.repeat(512), "\\".repeat(512), "é".repeat(256), "😀".repeat(128)]) {
    const version = '"'.repeat(64);
    const subjects = Array.from({ length: 256 }, (_, i) => ({
      kind: `k${String(i).padStart(31, "0")}`,
      ref,
      version,
    }));
    const { status, body } = await asked(subjects);
    assertEquals([status, body.checked], [200, 256]);
  }
});

test("keys are told apart whatever is in a ref", async () => {
  const subjects = [
    { kind: "a", ref: "b c", version: "1" },
    { kind: "a", ref: "b", version: "1" },
    { kind: "a", ref: "", version: "1" },
    { kind: "a", ref: "constructor", version: "1" },
    { kind: "constructor", ref: "__proto__", version: "1" },
  ];
  const { body } = await asked(subjects);
  assertEquals([body.checked, body.must_refetch], [5, false]);
});

test("the bounds can be changed, and what is not positive keeps the default", async () => {
  const two = [subject(1), subject(2)];
  assertEquals((await asked(two, same, { maxSubjects: 1 })).status, 400);
  assertEquals((await asked(two, same, { maxSubjects: 2 })).status, 200);
  assertEquals((await asked(two, same, { maxBodyBytes: 10 })).status, 413);
  for (const value of [0, -1, NaN]) {
    const options = { maxSubjects: value, maxBodyBytes: value };
    assertEquals((await asked(two, same, options)).status, 200);
  }
});

test("a hub's digest reads the head after the resolver has returned, and passes the request on", async () => {
  const { hub } = bench({ replay: RING });
  const { epoch } = hub.position();
  let seen: Request | undefined;
  const handler = hub.digestHandler((held, { request, signal }) => {
    hub.publish({ data: "meanwhile" });
    seen = request;
    assert(signal === request.signal);
    return held.map((one) => ({ ...one, status: "" as const }));
  });
  const { body } = await send(handler, { epoch, subjects: [good] });
  assertEquals([body.epoch, body.floor, body.head, body.checked], [epoch, "1", "1", 1]);
  assertEquals(seen?.method, "POST");
});

test("an application's version epoch stands in for the hub's, in request and answer", async () => {
  const { hub, logger } = bench({ versionEpoch: EPOCH });
  const handler = hub.digestHandler(same);
  const mine = await send(handler, { epoch: EPOCH, subjects: [good] });
  assertEquals([mine.body.epoch, mine.body.must_refetch], [EPOCH, false]);
  const hubs = await send(handler, { epoch: hub.position().epoch, subjects: [good] });
  assertEquals(hubs.body.must_refetch, true);
  const failing = hub.digestHandler(() => Promise.reject(new Error("no database")));
  await send(failing, { epoch: EPOCH, subjects: [good] });
  assert(logger.lines.some((line) => line.startsWith("error: ") && line.includes("no database")));
});
