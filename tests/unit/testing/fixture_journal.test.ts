import { assertEquals, assertRejects } from "@std/assert";
import { createFixture } from "../../../src/testing/mod.ts";
import { test } from "../../support/test.ts";
import { driven, refusalOf } from "./driver.ts";

test("a restart over a journal keeps the epoch, and a client of before is resumed", async () => {
  await driven(async ({ post, open, state }) => {
    await post("/control/publish", { topic: "a", count: 5 });
    const { epoch } = (await state()).position;
    assertEquals(await (await post("/control/restart")).json(), { epoch });
    const reader = await open("?topic=a", { "last-event-id": `${epoch}:3` });
    const [, hello, four, five] = await reader.read(4);
    assertEquals(JSON.parse(hello?.data ?? "{}").verdict, "resumed");
    assertEquals([four?.id, five?.id], [`${epoch}:4`, `${epoch}:5`]);
  }, { journal: "memory", replayEvents: 2 });
});

test("a topic is subscribed on a live connection, with what it said before, and unsubscribed", async () => {
  for (const options of [{ journal: "memory", replayEvents: 1 }, {}]) {
    await driven(async ({ post, open }) => {
      await post("/control/publish", { topic: "a", data: "1" });
      await post("/control/publish", { topic: "a", data: "2" });
      const reader = await open("?topic=b");
      const [, hello] = await reader.read(3);
      const { connection } = JSON.parse(hello?.data ?? "{}");
      const subscribed = await post("/subscribe", { connection, topic: "a", history: true });
      assertEquals(await subscribed.json(), { verdict: "fresh", head: "2" });
      await post("/control/publish", { topic: "a", data: "3" });
      const datas = (await reader.read(5)).map(({ data }) => data);
      assertEquals([datas[1], datas[2], datas[4]], ["1", "2", "3"]);
      assertEquals((await post("/unsubscribe", { connection, topic: "a" })).status, 204);
      const again = await refusalOf(await post("/unsubscribe", { connection, topic: "a" }));
      assertEquals(again.slice(0, 2), [404, "subscribe_unknown"]);
    }, options);
  }
});

test("a subscription that cannot be is refused by name", async () => {
  await driven(async ({ post, open }) => {
    const reader = await open("?topic=b");
    const [, hello] = await reader.read(3);
    const { connection } = JSON.parse(hello?.data ?? "{}");
    const refused: [unknown, number, string][] = [
      [{ connection: "nobody", topic: "a" }, 404, "subscribe_unknown"],
      [{ connection, topic: "" }, 400, "sse_topics"],
      [{ connection, topic: "a\n" }, 400, "sse_topics"],
      [{ connection, topic: "a", history: "all" }, 400, "control_invalid"],
      [{ connection, topic: "a", history: { last: -1 } }, 400, "control_invalid"],
      [{ connection, topic: "a", history: { last: "3" } }, 400, "control_invalid"],
      ["{", 400, "control_invalid"],
    ];
    for (const [body, status, code] of refused) {
      const answer = await refusalOf(await post("/subscribe", body));
      assertEquals(answer.slice(0, 2), [status, code], JSON.stringify(body));
    }
    const cursor = await post("/subscribe", { connection, topic: "a", after: "no cursor" });
    assertEquals((await cursor.json()).verdict, "cursor_invalid");
  });
});

test("a journal that nobody can open is said at once", async () => {
  const fixture = createFixture({ journal: "redis:redis://127.0.0.1:1/x" });
  await assertRejects(() => fixture.ready, TypeError, "Cannot open the journal");
  await assertRejects(async () => await fixture.fetch(new Request("http://localhost/alive")));
  await fixture.close();
});
