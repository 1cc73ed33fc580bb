import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createMemoryRelayBus } from "../../../src/relay/memory.ts";
import { createFixture, type FixtureOpeners } from "../../../src/testing/mod.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { driven, refusalOf } from "./driver.ts";

/** What joins fixtures of one process. */
function bus(): FixtureOpeners {
  const pods = createMemoryRelayBus();
  return {
    relay: () => {
      const relay = pods.connect();
      return Promise.resolve({ relay, close: () => relay.close() });
    },
  };
}

test("with tickets a stream is what its ticket says, once", async () => {
  await driven(async ({ post, open, get }) => {
    const mint = async (body: unknown): Promise<string> =>
      (await (await post("/ticket", body)).json()).ticket;
    const ticket = await mint({ topics: ["a"], user: "ada" });
    assertMatch(ticket, /^[A-Za-z0-9_-]{43}$/);
    const reader = await open(`?ticket=${ticket}&topic=b`);
    await reader.read(3);
    await post("/control/publish", { topic: "b", data: "not mine" });
    await post("/control/publish", { topic: "a", data: "mine" });
    assertEquals((await reader.read(1))[0]?.data, "mine");
    const again = await refusalOf(await get(`/events?ticket=${ticket}`));
    assertEquals(again, await refusalOf(await get("/events?topic=a")));
    assertEquals(again.slice(0, 2), [401, "ticket_invalid"]);
    assertEquals((await post("/ticket", { topics: [] })).status, 400);
    assertEquals((await post("/ticket", { topics: "a" })).status, 400);
  }, { tickets: "memory" });
});

test("a subscription needs the user whose connection it is; a stranger's looks unknown", async () => {
  await driven(async ({ post, open }) => {
    const { ticket } = await (await post("/ticket", { topics: ["a"], user: "ada" })).json();
    const reader = await open(`?ticket=${ticket}`);
    const [, hello] = await reader.read(3);
    const { connection } = JSON.parse(hello?.data ?? "{}");
    const call = { connection, topic: "b" };
    const stranger = await refusalOf(await post("/subscribe", { ...call, user: "bob" }));
    const unknown = await refusalOf(
      await post("/subscribe", { ...call, user: "ada", connection: "0".repeat(32) }),
    );
    assertEquals(stranger, unknown);
    assertEquals(stranger.slice(0, 2), [404, "subscribe_unknown"]);
    assertEquals((await post("/subscribe", { ...call, user: "ada" })).status, 200);
  }, { tickets: "memory" });
});

test("two fixtures on a relay: an event of one reaches the clients of both, once", async () => {
  const openers = bus();
  await driven(
    async (one) => {
      await driven(
        async (two) => {
          await Promise.all([one.fixture.ready, two.fixture.ready]);
          const readers = [await one.open("?topic=a"), await two.open("?topic=a")];
          for (const reader of readers) await reader.read(3);
          await one.post("/control/publish", { topic: "a", data: "from one" });
          await two.post("/control/publish", { topic: "a", data: "from two", ephemeral: true });
          await two.post("/control/publish", { topic: "a", data: "last" });
          for (const reader of readers) {
            const datas = (await reader.read(3)).map(({ data }) => data);
            assertEquals(datas.toSorted(), ["from one", "from two", "last"]);
          }
        },
        { relay: "bus", origin: "two" },
        openers,
      );
    },
    { relay: "bus", origin: "one" },
    openers,
  );
});

test("a topic is subscribed from the pod that does not hold the connection", async () => {
  const openers = bus();
  await driven(
    async (one) => {
      await driven(
        async (two) => {
          await Promise.all([one.fixture.ready, two.fixture.ready]);
          await two.post("/control/publish", { topic: "b", data: "before" });
          const reader = await one.open("?topic=a");
          const [, hello] = await reader.read(3);
          const { connection } = JSON.parse(hello?.data ?? "{}");
          const call = { connection, topic: "b", history: true };
          const answer = await (await two.post("/subscribe", call)).json();
          assertEquals(answer, { verdict: "fresh", head: "1" });
          const datas = (await reader.read(3)).map(({ data }) => data);
          assertEquals(datas[1], "before");
          assertEquals((await two.post("/unsubscribe", { connection, topic: "b" })).status, 204);
        },
        { relay: "bus" },
        openers,
      );
    },
    { relay: "bus" },
    openers,
  );
});

test("a restarted pod joins its siblings again", async () => {
  const openers = bus();
  await driven(
    async (one) => {
      await driven(
        async (two) => {
          await Promise.all([one.fixture.ready, two.fixture.ready]);
          assertEquals((await one.post("/control/restart")).status, 200);
          const reader = await one.open();
          await reader.read(3);
          await two.post("/control/publish", { data: "heard" });
          assertEquals((await reader.read(1))[0]?.data, "heard");
        },
        { relay: "bus", origin: "two" },
        openers,
      );
    },
    { relay: "bus", origin: "one" },
    openers,
  );
});

test("a drain fails the readiness, refuses newcomers and tickets, and says goodbye", async () => {
  await driven(async ({ get, post, open, state }) => {
    const { ticket } = await (await post("/ticket", { topics: ["a"] })).json();
    const reader = await open(
      `?ticket=${(await (await post("/ticket", { topics: ["a"] })).json()).ticket}`,
    );
    await reader.read(3);
    assertEquals((await get("/ready")).status, 200);
    assertEquals((await post("/control/drain", { spread_ms: 10 })).status, 204);
    const goodbye = await reader.read(2);
    assertEquals(goodbye.map(({ event, data }) => [event, data]), [
      ["retry", "1000"],
      ["sse:reset", '{"reason":"shutdown"}'],
    ]);
    await eventually(async () => (await state()).clients === 0, { what: "no client" });
    assertEquals((await get("/ready")).status, 503);
    const refused = await get(`/events?ticket=${ticket}`);
    assertEquals((await refusalOf(refused)).slice(0, 2), [503, "sse_unavailable"]);
    assertEquals((await post("/ticket", { topics: ["a"] })).status, 503);
    await post("/control/restart");
    assertEquals((await get("/ready")).status, 200);
    const back = await open(`?ticket=${ticket}`);
    assertEquals((await back.read(2))[1]?.event, "sse:hello", "and the ticket was not used");
  }, { tickets: "memory" });
});

test("a relay that nobody can open is said at once", async () => {
  const fixture = createFixture({ relay: "nats:nats://127.0.0.1:1/x" });
  await assertRejects(() => fixture.ready, TypeError, "Cannot open the relay");
  await fixture.close();
});
