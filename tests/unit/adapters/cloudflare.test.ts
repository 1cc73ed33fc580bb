import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  askHub,
  HubObject,
  hubObject,
  type HubObjectClass,
  publishTo,
  routeToHub,
  subscribeTo,
  unsubscribeFrom,
} from "../../../src/adapters/cloudflare.ts";
import type { JournaledEvent } from "../../../src/cluster/types.ts";
import { SoleJournal } from "../../../src/adapters/cloudflare/sole_journal.ts";
import {
  ConfigError,
  FrameTooLargeError,
  InvalidUtf8Error,
  TopicError,
} from "../../../src/errors.ts";
import {
  AppendUnknownError,
  JournalEpochError,
  JournalError,
} from "../../../src/errors/journal.ts";
import type { Resolver } from "../../../src/hub/digest.ts";
import type { ServeOptions } from "../../../src/hub/types.ts";
import type { JournalEntry } from "../../../src/journal/journal.ts";
import { createMemoryJournal } from "../../../src/journal/memory.ts";
import { test } from "../../support/test.ts";

/** A binding whose objects live here: one for each name, made when it is asked for. */
class Namespace<Env> {
  readonly objects = new Map<string, HubObject<Env>>();
  readonly stubs: string[] = [];
  /** What happens to a request instead of reaching its object. */
  fault: (() => Response) | undefined;
  readonly #class: HubObjectClass<Env>;
  readonly #env: Env;
  readonly #ctx: unknown;

  constructor(made: HubObjectClass<Env>, env: Env, ctx: unknown = {}) {
    this.#class = made;
    this.#env = env;
    this.#ctx = ctx;
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
    const known = this.objects.get(id) ?? new this.#class(this.#ctx, this.#env);
    this.objects.set(id, known);
    return known;
  }

  async shutdown(): Promise<void> {
    for (const object of this.objects.values()) await (await object.hub()).shutdown();
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
  const hub = await rooms.object("lobby").hub();
  assertEquals(hub.snapshot().map(({ event }) => event), [
    { topic: "tõpic, %/", name: "näme", data: "x" },
  ]);
  await rooms.shutdown();
});

test("what publish refuses is thrown in the Worker as the hub threw it", async () => {
  const rooms = new Namespace(hubObject(), {});
  const publish = (event: Parameters<typeof publishTo>[2]) => () =>
    publishTo(rooms, "lobby", event);
  await assertRejects(publish({ topic: "a\nb", data: "" }), TopicError);
  await assertRejects(() => subscribeTo(rooms, "lobby", "c", "a\nb"), TopicError);
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
  assertEquals((await rooms.object("lobby").hub()).position().head, 0);
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
  const hub = await rooms.object("lobby").hub();
  assertEquals([...hub.presence().topics.keys()], ["a"]);
  const { epoch } = hub.position();
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

/** Throws whatever it is told to; else it keeps what it was asked to publish. */
class Recorder extends HubObject<{ fault?: Error; readonly events: JournaledEvent[] }> {
  override publish(event: JournaledEvent): Promise<number> {
    if (this.env.fault !== undefined) return Promise.reject(this.env.fault);
    this.env.events.push({ ...event, data: String(event.data) });
    return Promise.resolve(7);
  }
}

test("what a journal is told of an event travels with it", async () => {
  const events: JournaledEvent[] = [];
  const rooms = new Namespace(Recorder, { events });
  assertEquals(await publishTo(rooms, "lobby", { data: "1", id: "once", ack: false }), 7);
  assertEquals(events, [{ id: "once", ack: false, data: "49" }]);
});

test("what a journal says of an event is thrown in the Worker as it was in the object", async () => {
  const events: JournaledEvent[] = [];
  const faults = [
    new JournalError("full", "SQLite says: database or disk is full"),
    new AppendUnknownError("the-id", "the disk failed: twice"),
    new TopicError("it is long"),
    new TypeError("Cannot use the name: it is long"),
  ];
  for (const fault of faults) {
    const rooms = new Namespace(Recorder, { events, fault });
    const thrown = await assertRejects(() => publishTo(rooms, "lobby", { data: "" }), Error);
    assert(thrown instanceof fault.constructor);
    assertEquals({ ...thrown, message: thrown.message }, { ...fault, message: fault.message });
  }
  const rooms = new Namespace(Recorder, { events, fault: new RangeError("a mistake") });
  await assertRejects(() => publishTo(rooms, "lobby", { data: "" }), RangeError, "a mistake");
});

/** SQL storage that answers nothing but an error. */
function brokenStorage(message: string): unknown {
  return {
    storage: {
      sql: {
        exec() {
          throw new Error(message);
        },
      },
      transactionSync: <T>(closure: () => T): T => closure(),
      sync: () => Promise.resolve(),
    },
  };
}

test("a journal that cannot be opened is 503 with Retry-After, logged once, and tried again", async () => {
  const logged: string[] = [];
  let opened = 0;
  class Counted extends HubObject {
    protected override hubOptions() {
      opened++;
      return { logger: { ...console, error: (text: string) => void logged.push(text) } };
    }
    protected override serveOptions(): ServeOptions {
      throw new Error("There is no hub to serve with");
    }
  }
  const rooms = new Namespace(Counted, {}, brokenStorage("disk I/O error: SQLITE_IOERR"));
  for (const round of [1, 2]) {
    const answers = await Promise.all([
      routeToHub(rooms, "lobby", get({ "SSE-Wire": "1" }), quiet),
      rooms.object("lobby").fetch(get()),
      askHub(rooms, "lobby", "presence"),
    ]);
    assertEquals(answers.map(({ status }) => status), [503, 503, 503], `round ${round}`);
    for (const { headers } of answers) assertMatch(headers.get("retry-after") ?? "", /^[234]$/);
    const error = await assertRejects(
      () => publishTo(rooms, "lobby", { data: "x" }),
      JournalError,
      "disk I/O error",
    );
    assertEquals(error.fault, "failed");
    await assertRejects(() => subscribeTo(rooms, "lobby", "c", "a"), JournalError);
    await assertRejects(() => unsubscribeFrom(rooms, "lobby", "c", "a"), JournalError);
  }
  assertEquals([logged.length, opened], [1, 1]);
  assertMatch(logged[0] ?? "", /^The hub's journal cannot be opened: JournalError: .*disk I\/O/);
});

test("options that could not be read are read again by the next request", async () => {
  let attempts = 0;
  const made = hubObject(() => {
    if (++attempts === 1) throw new RangeError("a binding is missing");
    return {};
  });
  const rooms = new Namespace(made, {});
  await assertRejects(() => publishTo(rooms, "lobby", { data: "x" }), RangeError);
  assertEquals(await publishTo(rooms, "lobby", { data: "x" }), 1);
  assertEquals(await publishTo(rooms, "lobby", { data: "x" }), 2);
  assertEquals(attempts, 2);
  await rooms.shutdown();
});

test("an object without SQL storage has its hub in memory, unless a journal was asked for", async () => {
  const absent = brokenStorage("SQL is not enabled for this Durable Object class. To enable it, …");
  for (const ctx of [{}, undefined, { storage: {} }, absent]) {
    const rooms = new Namespace(hubObject(), {}, ctx);
    assertEquals(await publishTo(rooms, "lobby", { data: "x" }), 1);
    await rooms.shutdown();
    const strict = new Namespace(hubObject({ journal: {} }), {}, ctx);
    const error = await assertRejects(() => publishTo(strict, "lobby", { data: "x" }), ConfigError);
    assertEquals(error.option, "journal");
  }
  const rooms = new Namespace(hubObject({ journal: false }), {}, brokenStorage("out of order"));
  assertEquals(await publishTo(rooms, "lobby", { data: "x" }), 1);
  await rooms.shutdown();
});

test("a topic is subscribed and unsubscribed on a connection in the object", async () => {
  const rooms = new Namespace(Room, {});
  const response = await routeToHub(rooms, "lobby", get());
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("sse:hello")) text += (await reader?.read())?.value ?? "";
  const connection = /"connection":"([0-9a-f]+)"/.exec(text)?.[1] ?? "";
  const subscribed = await subscribeTo(rooms, "lobby", connection, "b", { history: { last: 1 } });
  assertEquals(subscribed, { verdict: "fresh", head: 0 });
  await publishTo(rooms, "lobby", { topic: "b", data: "for b" });
  while (!text.includes("for b")) text += (await reader?.read())?.value ?? "";
  assertEquals(await unsubscribeFrom(rooms, "lobby", connection, "b"), true);
  assertEquals(await unsubscribeFrom(rooms, "lobby", connection, "b"), false);
  assertEquals(await subscribeTo(rooms, "lobby", "stranger", "b"), null);
  await reader?.cancel();
  await rooms.shutdown();
});

test("a journal that nobody else writes to is followed without a timer", async () => {
  const journal = new SoleJournal(createMemoryJournal());
  const { epoch } = await journal.window();
  const stopped = new AbortController();
  const tail = journal.tail({ epoch, after: 0, signal: stopped.signal })[Symbol.asyncIterator]();
  const { setTimeout } = globalThis;
  let timers = 0;
  globalThis.setTimeout = ((...args: Parameters<typeof setTimeout>) => {
    timers++;
    return setTimeout(...args);
  }) as typeof setTimeout;
  try {
    for (const data of ["1", "2", "3"]) {
      const next = tail.next();
      // It has looked, found nothing, and waits.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      await journal.append({ topic: "", name: "", data, at: 1 });
      assertEquals((await next).value?.map((entry: JournalEntry) => entry.data), [data]);
    }
    const next = tail.next();
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    await journal.rotate(epoch);
    await assertRejects(() => next, JournalEpochError);
    assertEquals(timers, 0);
  } finally {
    globalThis.setTimeout = setTimeout;
    stopped.abort();
    await journal.close();
  }
});

test("who follows such a journal stops at once when told to, and when it is closed", async () => {
  for (const ends of ["abort", "close"]) {
    const journal = new SoleJournal(createMemoryJournal());
    const { epoch } = await journal.window();
    const stopped = new AbortController();
    const tail = journal.tail({ epoch, after: 0, signal: stopped.signal })[Symbol.asyncIterator]();
    const next = tail.next();
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    if (ends === "abort") {
      stopped.abort();
      assertEquals((await next).done, true);
    }
    const closed = journal.close();
    if (ends === "close") await assertRejects(() => next, JournalError, "closed");
    await closed;
  }
});
