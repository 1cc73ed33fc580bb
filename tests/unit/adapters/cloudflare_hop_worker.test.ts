import { assert, assertEquals } from "@std/assert";
import { HubObject, routeToHub, streamThroughHop } from "../../../src/adapters/cloudflare.ts";
import { hopCallOf, hopRequest } from "../../../src/adapters/cloudflare/door.ts";
import { acceptAgain, acceptNew } from "../../../src/adapters/cloudflare/hop/accept.ts";
import type { Hops } from "../../../src/adapters/cloudflare/hop/hops.ts";
import { portOf, savedOf } from "../../../src/adapters/cloudflare/hop/socket.ts";
import type { HopSaved } from "../../../src/adapters/cloudflare/hop/types.ts";
import { readOptions } from "../../../src/hub/options.ts";
import type { HubState, ServeOptions } from "../../../src/hub/types.ts";
import { createMemoryJournal } from "../../../src/journal/memory.ts";
import { test } from "../../support/test.ts";

/** A room without storage, and so without a journal. */
class Room extends HubObject<unknown> {
  readonly seen: Request[] = [];

  protected override serveOptions(request: Request): ServeOptions {
    this.seen.push(request);
    return { topics: new URL(request.url).searchParams.getAll("topic") };
  }
}

function namespaceOf(fetch: (request: Request) => Promise<Response>) {
  return { idFromName: (name: string) => name, get: () => ({ fetch }) };
}

const quiet = { error: () => {} };
const get = (headers: Record<string, string> = {}): Request =>
  new Request("https://site.test/events?topic=a", { headers });

test("a request for the hop is the client's own when it has come through the door", () => {
  const resume = { connection: "c", after: "00c0ffee00c0ffee:7", pasts: 0, waiting: 3 };
  const url = "https://site.test/õ?topic=a%20b";
  const own = new Request(url, { headers: { "Last-Event-ID": "x", "SSE-Lag": "1" } });
  for (const one of [null, resume]) {
    const call = hopCallOf(hopRequest(own, one));
    assertEquals(call?.resume, one);
    assertEquals(call?.request.url, own.url);
    assertEquals([...call?.request.headers ?? []], [...own.headers]);
  }
});

test("no visitor's request leads to the hop, whatever it says", () => {
  const headers = { "Upgrade": "websocket", "Tidemark-Hop": '{"url":"https://site.test/"}' };
  assertEquals(hopCallOf(new Request("https://site.test/hop", { headers })), null);
  assertEquals(hopCallOf(new Request("https://hub.invalid.site.test/hop", { headers })), null);
});

test("a request that names the door's own host is not handed on, whoever believed it", async () => {
  const head = encodeURIComponent('{"url":"https://site.test/?topic=secret","resume":null}');
  const forged = { "Upgrade": "websocket", "Tidemark-Hop": head };
  const room = new Room({}, {});
  const rooms = namespaceOf((request) => room.fetch(request));
  for (const method of ["GET", "HEAD"]) {
    const request = new Request("https://hub.invalid/hop", { method, headers: forged });
    assertEquals((await routeToHub(rooms, "lobby", request, quiet)).status, 404);
  }
  assertEquals(room.seen, []);
});

test("nobody is let in once the hub has shut down, even if it did while a cursor was judged", async () => {
  const journal = createMemoryJournal();
  await journal.append({ topic: "a", name: "", data: "x", at: 0 });
  const settings = readOptions({}, { journaled: true });
  const row = { connection: "c", topics: null, pasts: 0, expiresAt: Infinity };
  // Of a hop only what is touched before anybody is let in.
  const hops = { journal, settings, maxClients: 1, find: () => ({ row }) } as unknown as Hops;
  const { epoch } = await journal.window();
  const resume = { connection: "c", after: `${epoch}:1`, pasts: 0, waiting: 0 };
  for (const late of [{ state: "stopped" as const }, { clientCount: 1 }]) {
    const hub: { state: HubState; clientCount: number } = { state: "serving", clientCount: 0 };
    const answer = acceptNew(hops, hub, get(), {});
    const again = late.state === undefined ? null : acceptAgain(hops, hub, resume);
    Object.assign(hub, late);
    assertEquals((await answer).status, 503);
    if (again !== null) assertEquals((await again).status, 410);
  }
});

test("an object without a journal serves the stream itself", async () => {
  const room = new Room({}, {});
  const rooms = namespaceOf((request) => room.fetch(request));
  const response = await streamThroughHop(rooms, "lobby", get(), quiet);
  assertEquals([response.status, response.headers.get("Content-Type")], [200, "text/event-stream"]);
  assertEquals(room.seen.map(({ url }) => url), ["https://site.test/events?topic=a"]);
  await room.publish({ topic: "a", data: "heard" });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("data: heard")) text += (await reader?.read())?.value ?? "";
  await reader?.cancel();
  await (await room.hub()).shutdown();
});

test("a refusal comes through, and an object that is away sends its client back later", async () => {
  const refused = namespaceOf(() => Promise.resolve(new Response("{}", { status: 400 })));
  assertEquals((await streamThroughHop(refused, "lobby", get(), quiet)).status, 400);
  const away = namespaceOf(() => Promise.reject(new Error("reset")));
  const native = await streamThroughHop(away, "lobby", get(), quiet);
  assert(/^retry: \d+\n\n$/.test(await native.text()));
  const client = await streamThroughHop(away, "lobby", get({ "SSE-Wire": "1" }), quiet);
  assertEquals(client.status, 503);
});

test("only a GET goes over the hop, and a HEAD is answered all the same", async () => {
  const room = new Room({}, {});
  const rooms = namespaceOf((request) => room.fetch(request));
  const head = await streamThroughHop(
    rooms,
    "lobby",
    new Request(get(), { method: "HEAD" }),
    quiet,
  );
  assertEquals([head.status, head.body], [200, null]);
  const post = await streamThroughHop(
    rooms,
    "lobby",
    new Request(get(), { method: "POST" }),
    quiet,
  );
  assertEquals(post.status, 405);
  await (await room.hub()).shutdown();
});

test("what an attachment has no room for is not taken up again after a sleep, and is not pretended", () => {
  let kept: unknown;
  const socket = {
    send: () => {},
    close: () => {},
    serializeAttachment(value: unknown): void {
      // The platform's bound.
      if (JSON.stringify(value).length > 16_384) throw new Error("too large");
      kept = value;
    },
    deserializeAttachment: () => kept,
  };
  const history = { topic: "t".repeat(256), after: 0, upTo: 9, begun: false, whole: false };
  const saved: HopSaved = {
    tidemark: 1,
    ...{ connection: "c", epoch: "00c0ffee00c0ffee", position: 9, sent: 5, acked: 0 },
    ...{ live: false, opening: false, histories: new Array(256).fill(history) },
  };
  portOf(socket, () => {}).save(saved);
  assertEquals(savedOf(socket), { ...saved, histories: [], opening: true });
});
