import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  subscribeHandler,
  type SubscribeHandlerOptions,
  type TopicCall,
  unsubscribeHandler,
} from "../../../src/cluster/handlers/subscribe.ts";
import { joinRelay } from "../../../src/cluster/join_relay.ts";
import { createSubscriptions } from "../../../src/cluster/subscriptions.ts";
import { TopicError } from "../../../src/errors.ts";
import { JournalError } from "../../../src/errors/journal.ts";
import { RelayError } from "../../../src/errors/relay.ts";
import { createMemoryRelay } from "../../../src/relay/memory.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { bench, Client, Lines, settle } from "../hub/harness.ts";
import { authorizing, everything, identify, request, told } from "../service/world.ts";

const CONNECTION = "0123456789abcdef0123456789abcdef";

/** Handlers over somebody who writes down what reaches them. */
function subscribing(options: Partial<SubscribeHandlerOptions> = {}) {
  const calls: TopicCall[] = [];
  const { asked, authorize } = authorizing();
  const logger = new Lines();
  const all = {
    identify,
    authorize,
    logger,
    subscriptions: {
      subscribe(call: TopicCall) {
        calls.push(call);
        return Promise.resolve({ verdict: "fresh" as const, head: 7 });
      },
      unsubscribe(call: TopicCall) {
        calls.push(call);
        return Promise.resolve(true);
      },
    },
    ...options,
  };
  const [subscribe, unsubscribe] = [subscribeHandler(all), unsubscribeHandler(all)];
  const post = (body: unknown, as = "ada of 7") => subscribe(request("/subscribe", { as, body }));
  return { subscribe, unsubscribe, post, calls, asked, logger };
}

test("a subscription is put to the application, and carried out for who asked, whatever the body says", async () => {
  const { subscribe, calls, asked } = subscribing();
  const body = {
    ...{
      connection: CONNECTION,
      topic: "open:1",
      history: { last: 5 },
      after: "00c0ffee00c0ffee:4",
    },
    ...{ user: "eve", account: "8", unknown: [[[]]] },
  };
  const sent = request("/subscribe", { as: "ada of 7", body });
  const response = await subscribe(sent);
  assertEquals(await response.json(), { verdict: "fresh", head: "7" });
  const { connection, topic, history, after } = body;
  assertEquals<unknown>(calls, [{ connection, topic, user: "ada", history, after }]);
  assertEquals(asked.length, 1);
  assertEquals([asked[0]?.user, asked[0]?.account, asked[0]?.topic], ["ada", "7", "open:1"]);
  assert(asked[0]?.request === sent);
});

test("what is not allowed does not reach the connection, and without authorize nothing does", async () => {
  const { post, calls } = subscribing();
  const body = { connection: CONNECTION, topic: "secret" };
  assertEquals(await told(post(body)), "403 forbidden");
  const late = subscribing({ authorize: () => Promise.resolve(false) });
  assertEquals(await told(late.post(body)), "403 forbidden");
  const nobody = subscribing({ authorize: undefined });
  assertEquals(await told(nobody.post({ ...body, topic: "open:1" })), "403 forbidden");
  const unread = [request("/", { body: "{" }), request("/", { as: "ada", body: "{" })];
  const answers = await Promise.all(unread.map((each) => told(nobody.subscribe(each))));
  assertEquals(answers, ["401 unauthenticated", "403 forbidden"]);
  assertEquals(unread.map((each) => each.bodyUsed), [false, false]);
  assertEquals(calls.length + late.calls.length + nobody.calls.length, 0);
});

test("a topic may be left without being asked whether it may be heard", async () => {
  const { unsubscribe, calls, asked } = subscribing();
  const body = { connection: CONNECTION, topic: "secret" };
  assertEquals((await unsubscribe(request("/unsubscribe", { as: "ada", body }))).status, 204);
  assertEquals(calls, [{ ...body, user: "ada" }]);
  assertEquals(asked, []);
  assertEquals(await told(unsubscribe(request("/unsubscribe", { body }))), "401 unauthenticated");
});

test("a body with a wrong field is refused by the field's name, and reaches nobody", async () => {
  const { subscribe, post, calls, asked } = subscribing();
  const good = { connection: CONNECTION, topic: "open:1" };
  const bad: [string, unknown, string][] = [
    ["subscribe_body", "{", "JSON"],
    ["subscribe_body", "[]", "object"],
    ["subscribe_body", "null", "object"],
    ["subscribe_body", new Uint8Array([0x22, 0xff, 0x22]), "JSON"],
    ["subscribe_body", {}, "connection"],
    ["subscribe_body", { ...good, connection: 7 }, "connection"],
    ["subscribe_body", { ...good, connection: "../x" }, "connection"],
    ["subscribe_body", { ...good, connection: "x".repeat(65) }, "connection"],
    ["subscribe_body", { ...good, topic: ["open:1"] }, "topic"],
    ["subscribe_body", { ...good, after: 5 }, "after"],
    ["subscribe_body", { ...good, after: "0".repeat(65) }, "after"],
    ...[1, "all", [], {}, { last: -1 }, { last: 1.5 }, { last: "5" }, { sinceMs: null }, {
      last: 1,
      sinceMs: 1,
    }].map((history): [string, unknown, string] => [
      "subscribe_body",
      { ...good, history },
      "history",
    ]),
    ["sse_topics", { ...good, topic: "" }, "topic"],
    ["sse_topics", { ...good, topic: "a\r\nb" }, "topic"],
    ["sse_topics", { ...good, topic: "x".repeat(257) }, "topic"],
  ];
  for (const [code, body, name] of bad) {
    const response = await post(body);
    const { error, code: found } = await response.json();
    assertEquals([response.status, found], [400, code], JSON.stringify(body));
    assert(error.includes(name), `${error} does not name ${name}`);
  }
  assertEquals(await told(post("[".repeat(60_000))), "400 subscribe_body");
  assertEquals(await told(post(`"${"x".repeat(65_536)}"`)), "413 subscribe_too_large");
  const form = request("/subscribe", {
    as: "ada",
    body: "{}",
    headers: { "Content-Type": "text/plain" },
  });
  assertEquals(await told(subscribe(form)), "415 subscribe_content_type");
  assertEquals(await told(subscribe(request("/subscribe", { as: "ada" }))), "405 subscribe_method");
  assertEquals([calls.length, asked.length], [0, 0]);
});

test("no body of JSON makes either handler fail", async () => {
  const { subscribe, unsubscribe, logger } = subscribing();
  const field = (values: fc.Arbitrary<unknown>) => fc.option(fc.oneof(values, fc.jsonValue()));
  const bodies = fc.oneof(
    fc.jsonValue(),
    fc.record({
      connection: field(fc.constant(CONNECTION)),
      topic: field(fc.oneof(fc.constant("open:1"), fc.string({ unit: "binary" }))),
      history: field(fc.constant(true)),
      after: field(fc.string()),
      __proto__: fc.constant(null),
    }),
  );
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      for (const handler of [subscribe, unsubscribe]) {
        const text = JSON.stringify(body) ?? "null";
        const answer = await told(handler(request("/", { as: "ada", body: text })));
        assert(
          /^(?:200|204|400 (?:subscribe_body|sse_topics)|403 forbidden)$/.test(answer),
          answer,
        );
      }
    }),
    { numRuns: 200 },
  );
  assertEquals(logger.lines, []);
});

test("what a connection or its journal refuses is told, and what fails is not", async () => {
  const failing = (error: Error) =>
    subscribing({
      subscriptions: {
        subscribe: () => Promise.reject(error),
        unsubscribe: () => Promise.reject(error),
      },
    });
  const told503 = async (error: Error) => {
    const { post, logger } = failing(error);
    const response = await post({ connection: CONNECTION, topic: "open:1", history: true });
    return [await told(response), response.headers.get("Retry-After"), logger.lines.length];
  };
  assertEquals(await told503(new JournalError("unavailable", "no answer")), [
    "503 journal",
    "1",
    1,
  ]);
  assertEquals(await told503(new RelayError("failed", "no")), ["503 relay", "1", 1]);
  assertEquals(await told503(new TopicError("there are 256")), ["400 sse_topics", null, 0]);
  assertEquals(await told503(new TypeError("x is not a function")), ["500 internal", null, 1]);
});

/** Two pods over one relay, on one clock, and Ada connected to the first. */
async function pods() {
  const clock = new FakeClock();
  const relay = createMemoryRelay();
  const logger = new Lines();
  const { asked: _, authorize } = authorizing();
  const { hub: first } = bench();
  const { hub: second } = bench();
  const memberships = [first, second].map((hub) => joinRelay(hub, relay, { clock, logger }));
  await Promise.all(memberships.map(({ ready }) => ready));
  const ada = new Client(first, { topics: ["open:0"], user: "ada" });
  await settle();
  const handlers = [first, second].map((hub, i) => {
    const subscriptions = createSubscriptions({ hub, membership: memberships[i] ?? null });
    return subscribeHandler({ identify, authorize, logger, subscriptions });
  });
  /** What is answered to a call at a pod, and after how long. */
  const call = async (pod: number, as: string, connection: string) => {
    const began = clock.monotonic();
    let answered = false;
    const body = { connection, topic: "open:1" };
    const answer = everything(
      handlers[pod]?.(request("/subscribe", { as, body })) ?? Promise.reject(new Error("no pod")),
    ).finally(() => answered = true);
    // In steps, so that the end is known to one of them.
    await eventually(async () => {
      for (let i = 0; i < 3; i++) await settle();
      if (!answered) clock.advance(50);
      return answered;
    }, { what: "an answer", everyMs: 1 });
    return [await answer, clock.monotonic() - began];
  };
  const close = async () => {
    await Promise.all(memberships.map((one) => one.leave()));
    await relay.close();
    ada.sink.destroy();
  };
  return { call, ada, first, second, close };
}

test("a stranger's connection and an unknown one get the same answer after the same time, from either pod", async () => {
  const { call, ada, first, close } = await pods();
  const { connection = "" } = ada.hello;
  const answers = [];
  for (const pod of [0, 1]) {
    answers.push(await call(pod, "eve", connection), await call(pod, "eve", CONNECTION));
  }
  const [answer, ms] = answers[0] ?? [];
  for (const each of answers) assertEquals(each, [answer, ms]);
  assert(String(answer).includes("subscribe_unknown") && Number(ms) >= 2000, `${answer}, ${ms}`);
  first.publish({ topic: "open:1", data: "not subscribed" });
  for (const pod of [0, 1]) {
    const [own, waited] = await call(pod, "ada", connection);
    assert(String(own).includes("fresh") && Number(waited) < 2000, `${own}, ${waited}`);
  }
  first.publish({ topic: "open:1", data: "subscribed" });
  await settle();
  assertEquals(ada.data, ["subscribed"]);
  await close();
});
