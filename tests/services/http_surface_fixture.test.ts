/**
 * The fixture's routes under strange methods, addresses and bodies, on Deno and in a Durable Object.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { type RunningFixture, withFixture } from "../support/fixture.ts";
import { DIGEST_MAX_BODY_BYTES } from "../../src/wire/timing.ts";
import { RUNTIMES } from "../support/runtimes.ts";
import { test } from "../support/test.ts";
import { header, Probe, told } from "./http_surface_server.ts";

const POST = "POST";
const ROUTES: Readonly<Record<string, string>> = {
  ...{ "/events": "GET, HEAD", "/ready": "GET, HEAD", "/control/state": "GET" },
  ...{ "/alive": POST, "/digest": POST, "/subscribe": POST, "/unsubscribe": POST },
  ...{ "/control/publish": POST, "/control/stall": POST },
};
const METHODS = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
const MIB = 1_048_576;

for (const runtime of RUNTIMES.filter(({ name }) => ["deno", "workerd-2026-04"].includes(name))) {
  test(`${runtime.name}: the fixture names its methods, bounds its bodies, and knows no other route`, () =>
    withFixture(runtime, {}, async (fixture) => {
      const probe = new Probe(Number(new URL(fixture.url).port));
      await methods(probe);
      await addresses(probe);
      await bodies(probe);
      assertEquals(probe.faults, []);
      await serves(fixture);
    }));
}

async function methods(probe: Probe): Promise<void> {
  for (const [path, allowed] of Object.entries(ROUTES)) {
    for (const method of METHODS) {
      if (allowed.split(", ").includes(method)) continue;
      const answer = await probe.send(`${method} ${path} HTTP/1.1\nOrigin: https://a.example`);
      assertEquals([answer.status, header(answer, "allow")], [405, allowed], `${method} ${path}`);
    }
  }
}

async function addresses(probe: Probe): Promise<void> {
  const targets = [
    "/",
    "/control/",
    "/control/constructor",
    "/control/__proto__",
    "/rest/__proto__",
  ];
  for (const target of [...targets, "/control/publish/", "/EVENTS", "/events%00"]) {
    const { status } = await probe.send(`GET ${target} HTTP/1.1`);
    assert(status === 404 || status === 400, `${target}: ${status}`);
  }
  for (const query of ["topic=%00", "topic=%0d%0a", "topic=a&topic=", `topic=${"x".repeat(257)}`]) {
    assertEquals(told(await probe.send(`GET /events?${query} HTTP/1.1`)), "400 sse_topics", query);
  }
  for (const query of ["last_event_id=%0d%0aid:1", "lag=%00", "topic=%c0%af", "topic=__proto__"]) {
    const { status, body } = await probe.send(`GET /events?${query} HTTP/1.1`);
    assertEquals([status, body.includes('"resumed":true')], [200, false], query);
  }
}

async function bodies(probe: Probe): Promise<void> {
  const post = async (path: string, body: string): Promise<string> =>
    told(await probe.send(`POST ${path} HTTP/1.1\nContent-Type: application/json`, { body }));
  const over = " ".repeat(8 * MIB + 1);
  assertEquals(await post("/control/publish", over), "400 control_invalid");
  assertEquals(
    await post("/digest", " ".repeat(DIGEST_MAX_BODY_BYTES + 1)),
    "413 digest_too_large",
  );
  const deep = "[".repeat(500_000);
  assertEquals(await post("/digest", deep), "400 digest_invalid");
  for (
    const body of [deep, "null", '"x"', "[]", '{"topic":1}', '{"count":1e999}']
  ) {
    assertEquals(await post("/control/publish", body), "400 control_invalid", body.slice(0, 40));
  }
  assertEquals(await post("/control/publish", '{"name":"a\\nb"}'), "422 publish_refused");
}

async function serves(fixture: RunningFixture): Promise<void> {
  const { head } = await fixture.publish({ topic: "__proto__", data: "as ever" });
  assertEquals(head, "1");
}
