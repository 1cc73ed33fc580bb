import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { healthHandler, readyHandler } from "../../../src/cluster/handlers/health.ts";
import { metricsHandler, presenceHandler } from "../../../src/cluster/handlers/inspect.ts";
import { failureForLog } from "../../../src/cluster/handlers/refuse.ts";
import { keyCheck, sameBytes } from "../../../src/cluster/handlers/secret.ts";
import { sparing } from "../../../src/cluster/handlers/sparing.ts";
import { joinRelay } from "../../../src/cluster/join_relay.ts";
import type { HubState } from "../../../src/hub/types.ts";
import { createMemoryRelay } from "../../../src/relay/memory.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { test } from "../../support/test.ts";
import { bench, Client, gate, Lines, settle } from "../hub/harness.ts";
import { everything, KEY, KEYS, NEXT_KEY, request, told } from "../service/world.ts";

const BEARER = { headers: { Authorization: `Bearer ${KEY}` } };

/** Bytes that count how often they are read. */
function counted(bytes: Uint8Array): { bytes: ArrayLike<number>; reads: number[] } {
  const reads: number[] = [];
  const proxy = new Proxy(bytes, {
    get(target, key) {
      if (key === "length") return target.length;
      reads.push(Number(key));
      return target[Number(key)];
    },
  });
  return { bytes: proxy, reads };
}

test("two hashes are compared to their last byte, wherever they differ", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uniqueArray(fc.nat({ max: 31 })),
      (hash, places) => {
        const other = hash.slice();
        for (const i of places) other[i] = (other[i] ?? 0) ^ 0x10;
        const { bytes, reads } = counted(other);
        assertEquals(sameBytes(hash, bytes), places.length === 0);
        assertEquals(reads, Array.from({ length: 32 }, (_, i) => i));
      },
    ),
  );
  assertEquals(sameBytes([1, 2], [1, 2, 3]), false);
  assertEquals(sameBytes([1, 0], [1]), false);
});

test("whatever is presented is hashed once, and so is each key, once and for all", async () => {
  const keys = [KEY, NEXT_KEY, "a-third-key-for-good-measure"];
  const check = keyCheck(keys, "keys");
  const { digest } = crypto.subtle;
  const hashed: number[] = [];
  // What is done for an answer is the same: one hash of what is presented, and no early end after it.
  crypto.subtle.digest = (algorithm: AlgorithmIdentifier, data: BufferSource) => {
    hashed.push(data.byteLength);
    return digest.call(crypto.subtle, algorithm, data);
  };
  try {
    assertEquals(await check(""), false);
    assertEquals(hashed.length, keys.length + 1, "the keys are hashed once");
    for (const key of keys) assertEquals(await check(key), true);
    for (const near of ["", KEY.slice(1), `${KEY}=`, KEY.toUpperCase()]) {
      assertEquals(await check(near), false);
    }
    assertEquals(hashed.length, keys.length + 1 + keys.length + 4);
  } finally {
    crypto.subtle.digest = digest;
  }
});

test("presence and metrics are for whoever has a key, or whom the application allows", async () => {
  const { hub } = bench();
  const client = new Client(hub, { topics: ["__proto__", "b"], clientTag: "tab-1" });
  await settle();
  const presence = presenceHandler({ hub, access: KEYS });
  const metrics = metricsHandler({ hub, access: KEYS });
  for (const handler of [presence, metrics]) {
    const refused = [request("/"), request("/", { headers: { Authorization: "Bearer wrong" } })];
    const answers = await Promise.all(refused.map((one) => everything(handler(one))));
    assertEquals(new Set(answers).size, 1);
    assert(answers[0]?.startsWith("[401,"));
    const posted = await handler(request("/", { ...BEARER, method: "POST" }));
    assertEquals([posted.status, posted.headers.get("Allow")], [405, "GET, HEAD"]);
  }
  const seen = await (await presence(request("/", BEARER))).text();
  assert(seen.includes('"topics":{"__proto__":1,"b":1}'), seen);
  assertEquals(JSON.parse(seen).tags[0].tag, "tab-1");
  const counters = await metrics(request("/", BEARER));
  assert(counters.headers.get("content-type")?.startsWith("application/openmetrics-text"));
  assert((await counters.text()).includes("tidemark_clients 1\n"));

  const answers: unknown[] = [true, false, Promise.resolve(true), undefined, 1];
  const statuses = [];
  for (const answer of answers) {
    const allowed = presenceHandler({ hub, access: { allow: () => answer as boolean } });
    statuses.push(await told(allowed(request("/"))));
  }
  const no = "403 forbidden";
  assertEquals(statuses, ["200", no, "200", no, no]);
  client.sink.destroy();
});

test("the counters of the relay stand beside the hub's, in one text", async () => {
  const { hub } = bench();
  const relay = createMemoryRelay();
  const membership = joinRelay(hub, relay, { logger: new Lines() });
  await membership.ready;
  const text = await (await metricsHandler({ hub, membership, access: KEYS })(request("/", BEARER)))
    .text();
  assert(text.includes("tidemark_clients 0\n") && text.includes("tidemark_relay_gaps_total 0\n"));
  assertEquals(text.split("# EOF").length, 2);
  assert(text.endsWith("# EOF\n"));
  await membership.leave();
});

test("a pod lives while it answers, and is ready while it serves and its relay is joined", async () => {
  const health = healthHandler();
  const hub: { state: HubState } = { state: "serving" };
  const { opened, open } = gate();
  const ready = readyHandler({ hub, membership: { ready: opened } });
  const reason = async () => (await (await ready(request("/ready"))).json()).error;
  assertEquals(await told(ready(request("/ready"))), "503 not_ready");
  assert((await reason()).includes("relay"));
  open();
  await settle();
  assertEquals(await (await ready(request("/ready"))).json(), { status: "ready" });
  for (const state of ["lame_duck", "draining", "stopped"] as const) {
    hub.state = state;
    assertEquals(await told(ready(request("/ready"))), "503 not_ready");
    assertEquals(await (await health(request("/health"))).json(), { status: "ok" });
  }
  assertEquals(await told(ready(request("/ready", { method: "POST" }))), "405 ready_method");
  assertEquals(await told(health(request("/health", { method: "POST" }))), "405 health_method");
  assertEquals((await readyHandler({ hub: { state: "serving" } })(request("/"))).status, 200);
});

test("a pod whose relay could not be joined is never ready", async () => {
  const { opened, break: fail } = gate();
  const ready = readyHandler({ hub: { state: "serving" }, membership: { ready: opened } });
  fail(new Error("the broker is away"));
  await settle();
  const { error } = await (await ready(request("/ready"))).json();
  assertEquals(error, "The relay could not be joined");
});

test("a thousand failures are twenty lines a minute, and then how many were not logged", () => {
  const clock = new FakeClock();
  const logger = new Lines();
  const { error } = sparing(logger, clock);
  for (let i = 0; i < 1000; i++) error(`failure ${i}`);
  assertEquals(logger.lines.length, 20);
  clock.advance(59_999);
  error("within the minute");
  clock.advance(1);
  error("after it");
  assertEquals(logger.lines.slice(20), [
    "error: There were 981 more failures of requests",
    "error: after it",
  ]);
  clock.advance(60_000);
  error("a quiet minute later");
  assertEquals(logger.lines.slice(22), ["error: a quiet minute later"]);
});

test("a failure is logged in one bounded line, and without what looks like a ticket or a cursor", () => {
  const ticket = fc.string({ unit: fc.constantFrom(..."aZ09_-"), minLength: 43, maxLength: 43 });
  const cursor = "0123456789abcdef:1234567";
  fc.assert(
    fc.property(ticket, fc.string({ maxLength: 3000 }), fc.string(), (secret, before, after) => {
      const url = `/events?ticket=${secret}&last_event_id=${cursor}`;
      const line = failureForLog(new Error(`${before} ${url} ${after}`));
      assert(new TextEncoder().encode(line).length <= 512);
      assert(!line.includes(secret.slice(0, 16)), line);
      assert(!line.includes(cursor) && !line.includes("\n"));
    }),
  );
  // Shorter without its tickets, the line has room for what was cut in the middle of one.
  const many = Array.from({ length: 60 }, () => "x".repeat(43)).join(" ");
  const line = failureForLog(many);
  assert(/^(?:\[removed\] ?)+$/.test(line), line);
});
