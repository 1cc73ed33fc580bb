import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  askHub,
  HubObject,
  hubObject,
  type HubObjectClass,
  publishTo,
  routeToHub,
} from "../../../src/adapters/cloudflare.ts";
import { FrameTooLargeError, InvalidUtf8Error, TopicError } from "../../../src/errors.ts";
import type { Resolver } from "../../../src/hub/digest.ts";
import type { ServeOptions } from "../../../src/hub/types.ts";
import { test } from "../../support/test.ts";

/** A binding whose objects live here: one for each name, made when it is asked for. */
class Namespace<Env> {
  readonly objects = new Map<string, HubObject<Env>>();
  readonly stubs: string[] = [];
  /** What happens to a request instead of reaching its object. */
  fault: (() => Response) | undefined;
  readonly #class: HubObjectClass<Env>;
  readonly #env: Env;

  constructor(made: HubObjectClass<Env>, env: Env) {
    this.#class = made;
    this.#env = env;
  }

  idFromName(name: string): string {
    return name;
  }

  get(id: string) {
    this.stubs.push(id);
    return {
      fetch: async (request: Request) => this.fault?.() ?? await this.object(id).fetch(request),
    };
  }

  object(id: string): HubObject<Env> {
    const known = this.objects.get(id) ?? new this.#class({}, this.#env);
    this.objects.set(id, known);
    return known;
  }

  async shutdown(): Promise<void> {
    for (const object of this.objects.values()) await object.hub.shutdown();
  }
}

const quiet = { error: () => {} };
const get = (headers: Record<string, string> = {}): Request =>
  new Request("https://site.test/events?topic=a", { headers });

test("a stream goes through to its object, and hears what is published on it", async () => {
  const rooms = new Namespace(hubObject(), {});
  const response = await routeToHub(rooms, "lobby", get());
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("sse:hello")) text += (await reader?.read())?.value ?? "";
  assertEquals(await publishTo(rooms, "lobby", { name: "say", data: "héllo\nyou" }), 1);
  assertEquals(await publishTo(rooms, "other", { data: "elsewhere" }), 1);
  while (!text.includes("data: you")) text += (await reader?.read())?.value ?? "";
  assert(text.includes("event: say\ndata: héllo\ndata: you\n\n"), text);
  await reader?.cancel();
  await rooms.shutdown();
});

test("each request has a fresh stub: one that has thrown stays broken", async () => {
  const rooms = new Namespace(hubObject(), {});
  for (const _ of [1, 2]) await publishTo(rooms, "lobby", { data: "x" });
  assertEquals(rooms.stubs, ["lobby", "lobby"]);
  await rooms.shutdown();
});

test("the options may be made from the bindings, once for each object", async () => {
  const seen: string[] = [];
  const made = hubObject((env: { KEEPALIVE_MS: string }) => {
    seen.push(env.KEEPALIVE_MS);
    return { keepaliveMs: Number(env.KEEPALIVE_MS) };
  });
  const rooms = new Namespace(made, { KEEPALIVE_MS: "1234" });
  await publishTo(rooms, "lobby", { data: "x" });
  await publishTo(rooms, "lobby", { data: "x" });
  assertEquals(seen, ["1234"]);
  await rooms.shutdown();
});

test("an event keeps its topic, its name and its being ephemeral on the way to the object", async () => {
  const rooms = new Namespace(hubObject({ replay: { maxEvents: 8, ttlMs: 600_000 } }), {});
  await publishTo(rooms, "lobby", { topic: "tõpic, %/", name: "näme", data: "x" });
  const bytes = new TextEncoder().encode("bytes");
  assertEquals(await publishTo(rooms, "lobby", { data: bytes, ephemeral: true }), 0);
  assertEquals(rooms.object("lobby").hub.snapshot().map(({ event }) => event), [
    { topic: "tõpic, %/", name: "näme", data: "x" },
  ]);
  await rooms.shutdown();
});

test("what publish refuses is thrown in the Worker as the hub threw it", async () => {
  const rooms = new Namespace(hubObject(), {});
  const publish = (event: Parameters<typeof publishTo>[2]) => () =>
    publishTo(rooms, "lobby", event);
  await assertRejects(publish({ topic: "a\nb", data: "" }), TopicError);
  await assertRejects(publish({ name: "sse:x", data: "" }), TypeError, "sse:");
  const lone = await assertRejects(publish({ data: "ab\ud800" }), InvalidUtf8Error);
  assertEquals(lone.index, 2);
  const large = await assertRejects(publish({ data: "x".repeat(1_048_576) }), FrameTooLargeError);
  assertEquals(large.cap, 1_048_576);
  assertEquals(await publishTo(rooms, "lobby", { data: "x" }), 1);
  await rooms.shutdown();
});

test("an object that was reset makes publishTo reject, and is not asked twice", async () => {
  const rooms = new Namespace(hubObject(), {});
  rooms.fault = () => new Response("reset", { status: 500 });
  await assertRejects(() => publishTo(rooms, "lobby", { data: "x" }), Error, "500");
  rooms.fault = () => {
    throw new Error("Durable Object reset because its code was updated.");
  };
  await assertRejects(() => publishTo(rooms, "lobby", { data: "x" }), Error, "reset");
  assertEquals(rooms.stubs.length, 2);
});

test("while the object is away, a native EventSource gets a stream that sends it back later", async () => {
  const rooms = new Namespace(hubObject(), {});
  const faults: (() => Response)[] = [
    () => new Response("gone", { status: 500 }),
    () => {
      throw new Error("reset");
    },
  ];
  for (const fault of faults) {
    rooms.fault = fault;
    const response = await routeToHub(rooms, "lobby", get(), quiet);
    assertEquals(response.status, 200);
    assertEquals(response.headers.get("content-type"), "text/event-stream");
    const text = await response.text();
    assertMatch(text, /^retry: \d+\n\n$/);
    const ms = Number(text.slice(7));
    assert(ms >= 1500 && ms <= 3000, text);
  }
});

test("while the object is away, a client that sends SSE-Wire gets 503 with Retry-After", async () => {
  const rooms = new Namespace(hubObject(), {});
  rooms.fault = () => new Response("gone", { status: 500 });
  const response = await routeToHub(rooms, "lobby", get({ "SSE-Wire": "1" }), quiet);
  assertEquals(response.status, 503);
  assertMatch(response.headers.get("retry-after") ?? "", /^[23]$/);
  assertEquals((await response.json()).code, "sse_unavailable");
});

test("a hub that has no place left has its Retry-After respected", async () => {
  const rooms = new Namespace(hubObject({ maxClients: 1, reconnectDelayMs: 20_000 }), {});
  const first = await routeToHub(rooms, "lobby", get());
  const second = await routeToHub(rooms, "lobby", get(), quiet);
  const ms = Number((await second.text()).slice(7));
  assert(ms >= 20_000 && ms <= 21_500, String(ms));
  await first.body?.cancel();
  await rooms.shutdown();
});

test("only a GET or a HEAD passes to the object as it is", async () => {
  const rooms = new Namespace(hubObject(), {});
  for (const method of ["POST", "PUT", "DELETE"]) {
    const request = new Request("https://hub.invalid/publish", { method });
    const response = await routeToHub(rooms, "lobby", request);
    assertEquals([response.status, response.headers.get("allow")], [405, "GET, HEAD"]);
  }
  assertEquals(rooms.stubs, []);
  const direct = await rooms.object("lobby").fetch(
    new Request("https://site.test/publish", { method: "POST", body: "x" }),
  );
  assertEquals(direct.status, 405);
  assertEquals(rooms.object("lobby").hub.position().head, 0);
});

class Room extends HubObject<object> {
  protected override serveOptions(request: Request): Promise<ServeOptions> {
    return Promise.resolve({ topics: new URL(request.url).searchParams.getAll("topic") });
  }
  protected override resolver(): Resolver {
    return (held) => held.map(({ kind, ref }) => ({ kind, ref, version: "2", status: "" }));
  }
}

test("a class that extends HubObject chooses topics and answers digests", async () => {
  const rooms = new Namespace(Room, {});
  const response = await routeToHub(rooms, "lobby", get());
  assertEquals([...rooms.object("lobby").hub.presence().topics.keys()], ["a"]);
  const { epoch } = rooms.object("lobby").hub.position();
  const request = new Request("https://site.test/digest", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ epoch, subjects: [{ kind: "doc", ref: "7", version: "1" }] }),
  });
  const digest = await (await askHub(rooms, "lobby", "digest", request)).json();
  assertEquals([digest.checked, digest.changed.length], [1, 1]);
  await response.body?.cancel();
  await rooms.shutdown();
});

test("askHub hands on an acknowledgement, and tells presence and metrics", async () => {
  const rooms = new Namespace(hubObject(), {});
  const request = new Request("https://site.test/alive", {
    method: "POST",
    headers: { "SSE-Client": "tab-1" },
  });
  assertEquals((await askHub(rooms, "lobby", "alive", request)).status, 204);
  const presence = await (await askHub(rooms, "lobby", "presence")).json();
  assertEquals(presence.tags.map(({ tag }: { tag: string }) => tag), ["tab-1"]);
  const metrics = await askHub(rooms, "lobby", "metrics");
  assert((await metrics.text()).endsWith("# EOF\n"));
  assertEquals((await askHub(rooms, "lobby", "digest")).status, 404);
  const wrong = await askHub(rooms, "lobby", "alive", new Request("https://site.test/alive"));
  assertEquals([wrong.status, (await wrong.json()).code], [405, "sse_method"]);
  await rooms.shutdown();
});
