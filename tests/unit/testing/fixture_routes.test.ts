import { assertEquals } from "@std/assert";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { driven, refusalOf } from "./driver.ts";

test("a body that is no request is 400 control_invalid, and changes nothing", async () => {
  await driven(async ({ post, state }) => {
    const bad: [string, unknown][] = [
      ["publish", "{"],
      ["publish", "[]"],
      ["publish", "null"],
      ["publish", '"text"'],
      ["publish", { count: -1 }],
      ["publish", { count: 1.5 }],
      ["publish", { count: "3" }],
      ["publish", { count: 100_001 }],
      ["publish", { size: 10 }],
      ["publish", { size: 2 * 1_048_576 + 1 }],
      ["publish", { data: 7 }],
      ["publish", { ephemeral: "yes" }],
      ["mutate", { status: "broken" }],
      ["stall", { on: 1 }],
      ["close-after", { frames: -1 }],
      ["delay-hello", { ms: "soon" }],
      ["hook-sleep", { fail: 1 }],
    ];
    for (const [route, body] of bad) {
      const [status, code] = await refusalOf(await post(`/control/${route}`, body));
      assertEquals([status, code], [400, "control_invalid"], `${route} ${JSON.stringify(body)}`);
    }
    assertEquals((await state()).position.head, "0");
  });
});

test("unknown fields are ignored, and null is a missing field", async () => {
  await driven(async ({ post }) => {
    const response = await post("/control/publish", { count: null, data: null, later: 1 });
    assertEquals(await response.json(), { offsets: ["1"], head: "1" });
  });
});

test("unknown routes, wrong methods and tickets that were not asked for are refused by name", async () => {
  await driven(async ({ get, post }) => {
    const code = async (answer: Promise<Response>) => (await refusalOf(await answer)).slice(0, 2);
    assertEquals(await code(get("/nowhere")), [404, "not_found"]);
    assertEquals(await code(post("/control/nothing")), [404, "not_found"]);
    assertEquals(await code(post("/control/toString")), [404, "not_found"]);
    assertEquals(await code(post("/ticket")), [404, "not_found"]);
    assertEquals(await code(post("/control/state")), [405, "control_method"]);
    const wrong = await get("/control/publish");
    assertEquals(wrong.headers.get("allow"), "POST");
    assertEquals(await code(Promise.resolve(wrong)), [405, "control_method"]);
    assertEquals(await code(post("/rest/chat/1")), [405, "rest_method"]);
    assertEquals((await post("/events")).status, 405);
  });
});

test("rest creates a subject at version 1; mutate bumps it, and hides it", async () => {
  await driven(async ({ get, post, state }) => {
    const { epoch } = (await state()).position;
    assertEquals(await (await get("/rest/chat/c%2F1")).json(), {
      kind: "chat",
      ref: "c/1",
      version: "1",
      epoch,
      payload: "v1",
    });
    assertEquals((await post("/control/mutate", { kind: "chat", ref: "c/1" })).status, 204);
    assertEquals((await (await get("/rest/chat/c/1")).json()).payload, "v2");
    await post("/control/mutate", { kind: "chat", ref: "c/1", status: "gone" });
    assertEquals((await refusalOf(await get("/rest/chat/c/1"))).slice(0, 2), [404, "rest_gone"]);
    await post("/control/mutate", { kind: "chat", ref: "c/1", status: "forbidden" });
    const forbidden = await refusalOf(await get("/rest/chat/c/1"));
    assertEquals(forbidden.slice(0, 2), [403, "rest_forbidden"]);
    await post("/control/mutate", { kind: "chat", ref: "c/1" });
    assertEquals((await (await get("/rest/chat/c/1")).json()).version, "5");
    await post("/control/mutate", { kind: "chat", ref: "new" });
    assertEquals((await (await get("/rest/chat/new")).json()).version, "1");
    assertEquals((await refusalOf(await get("/rest/chat/%ff"))).slice(0, 2), [400, "rest_invalid"]);
    assertEquals((await state()).position.head, "0");
  });
});

test("rest-fail-once fails the next rest, and only that", async () => {
  await driven(async ({ get, post }) => {
    await post("/control/rest-fail-once");
    assertEquals((await refusalOf(await get("/rest/chat/1"))).slice(0, 2), [500, "rest_failed"]);
    assertEquals((await get("/rest/chat/1")).status, 200);
  });
});

test("the digest compares with the store, and can be delayed", async () => {
  await driven(async ({ get, post, state }) => {
    await get("/rest/chat/same");
    await get("/rest/chat/newer");
    await post("/control/mutate", { kind: "chat", ref: "newer" });
    await post("/control/mutate", { kind: "chat", ref: "hidden", status: "forbidden" });
    await post("/control/delay-digest", { ms: 30 });
    const { epoch } = (await state()).position;
    const subjects = ["same", "newer", "hidden", "unknown"].map((ref) => ({
      kind: "chat",
      ref,
      version: "1",
    }));
    const asked = performance.now();
    const response = await post("/digest", { epoch, subjects }, {
      "content-type": "application/json",
    });
    assertEquals(performance.now() - asked >= 25, true);
    const { changed, removed, checked, must_refetch } = await response.json();
    assertEquals([checked, must_refetch], [4, false]);
    assertEquals(changed, [{ kind: "chat", ref: "newer", version: "2" }]);
    assertEquals(removed, [
      { kind: "chat", ref: "hidden", reason: "forbidden" },
      { kind: "chat", ref: "unknown", reason: "gone" },
    ]);
  });
});

test("the state tells presence, arrivals and departures, and who knows the wire", async () => {
  await driven(async ({ open, state }) => {
    const tagged = await open("?topic=x&topic=y", { "SSE-Client": "tab-1", "SSE-Wire": "1" });
    await tagged.read(3);
    await (await open()).read(3);
    const connected = await state();
    assertEquals([connected.clients, connected.v3_connects, connected.legacy_connects], [2, 1, 1]);
    const [tag] = connected.presence;
    assertEquals([tag?.tag, tag?.connected, tag?.gone], ["tab-1", true, false]);
    await tagged.cancel();
    const { events, position } = await eventually(async () => {
      const now = await state();
      return now.events.length === 3 ? now : null;
    }, { what: "the departure" });
    const { at, ...departure } = events[2] ?? { at: 0 };
    assertEquals(Math.abs(Date.now() - at) < 10_000, true);
    assertEquals(departure, {
      kind: "disconnected",
      topic: "x",
      verdict: "",
      cause: "closed",
      write: "",
      epoch: position.epoch,
      tag: "tab-1",
      client_id: 1,
    });
    assertEquals(
      events.slice(0, 2).map((one) => [one.kind, one.topic, one.verdict, one.client_id]),
      [
        ["connected", "x", "fresh", 1],
        ["connected", "", "fresh", 2],
      ],
    );
  });
});

test("alive needs a tag; the window decides when a tag without acknowledgement is gone", async () => {
  await driven(async ({ post, state }) => {
    assertEquals((await refusalOf(await post("/alive"))).slice(0, 2), [400, "alive_invalid"]);
    assertEquals((await post("/alive", undefined, { "SSE-Client": "t" })).status, 204);
    assertEquals((await state()).presence.map(({ tag, gone }) => [tag, gone]), [["t", false]]);
    await post("/control/alive-window", { ms: 1 });
    await eventually(async () => (await state()).presence[0]?.gone, { what: "the tag to be gone" });
    assertEquals((await state()).transitions, { alive: 1, expired: 1 });
    await post("/control/restart");
    assertEquals((await state()).transitions, { alive: 1, expired: 1 });
    await post("/control/alive-window");
    await post("/alive", undefined, { "SSE-Client": "t" });
    assertEquals((await state()).transitions, { alive: 2, expired: 1 });
  });
});
