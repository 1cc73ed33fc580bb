import { assertEquals } from "@std/assert";
import { aliveHandler, knownDigestHandler } from "../../../src/cluster/handlers/known.ts";
import type { SubjectState } from "../../../src/hub/digest.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { bench, gate } from "../hub/harness.ts";
import { identify, request, told } from "../service/world.ts";

test("an acknowledgement counts when the application knows who sends it", async () => {
  const { hub, logger } = bench();
  const alive = aliveHandler({ hub, identify, logger });
  const headers = { "SSE-Client": "tab-1" };
  assertEquals(
    await told(alive(request("/alive", { method: "POST", headers }))),
    "401 unauthenticated",
  );
  assertEquals(hub.presence().tags, []);
  assertEquals(await told(alive(request("/alive", { method: "POST", headers, as: "ada" }))), "204");
  assertEquals(hub.presence().tags.map(({ tag }) => tag), ["tab-1"]);
  assertEquals(await told(alive(request("/alive", { as: "ada" }))), "405 sse_method");
});

test("a resolver that takes longer than it may makes the client refetch, and its late answer changes nothing", async () => {
  const { hub, logger, clock } = bench();
  const { pending } = clock;
  const { opened, open } = gate();
  const states: SubjectState[] = [{ kind: "doc", ref: "7", version: "2", status: "" }];
  const digest = knownDigestHandler({
    ...{ hub, identify, logger, clock, timeoutMs: 10_000 },
    resolve: () => opened.then(() => states),
  });
  const { epoch } = hub.position();
  const body = { epoch, subjects: [{ kind: "doc", ref: "7", version: "1" }] };
  const ask = () => digest(request("/digest", { as: "ada", body }));
  const late = ask();
  // The body is read in turns of the runtime's own, which microtasks alone do not bring about.
  await eventually(() => clock.pending === pending + 1, { what: "the resolver's time" });
  clock.advance(9999);
  assertEquals(clock.pending, pending + 1);
  clock.advance(1);
  assertEquals((await (await late).json()).must_refetch, true);
  assertEquals(logger.lines.length, 1);
  open();
  const inTime = await (await ask()).json();
  assertEquals([inTime.must_refetch, inTime.changed], [false, [{
    kind: "doc",
    ref: "7",
    version: "2",
  }]]);
  assertEquals(clock.pending, pending);
});

test("a digest is for whom the application knows", async () => {
  const { hub, logger } = bench();
  let asked = 0;
  const digest = knownDigestHandler({
    ...{ hub, identify, logger },
    resolve: () => {
      asked++;
      return [];
    },
  });
  const { epoch } = hub.position();
  const body = { epoch, subjects: [{ kind: "doc", ref: "7", version: "1" }] };
  assertEquals(await told(digest(request("/digest", { body }))), "401 unauthenticated");
  assertEquals(await told(digest(request("/digest", { as: "ada" }))), "405 digest_method");
  assertEquals(asked, 0);
});
