import { assert, assertEquals, assertRejects } from "@std/assert";
import { serveBun } from "../../../src/adapters/bun.ts";
import { serveDeno } from "../../../src/adapters/deno.ts";
import { serveNode } from "../../../src/adapters/node.ts";
import type {
  FetchHandler,
  ListenOptions,
  RunningServer,
  Stoppable,
} from "../../../src/adapters/server.ts";
import { createHub } from "../../../src/hub/hub.ts";
import type { Hub } from "../../../src/hub/types.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { open } from "./node_server.ts";

type Serve = (handler: FetchHandler, options: ListenOptions) => Promise<RunningServer>;

/** What this runtime has: the Node adapter works on each. */
const servers: [string, Serve][] = [["serveNode", serveNode]];
if ("Deno" in globalThis) servers.push(["serveDeno", serveDeno]);
if ("Bun" in globalThis) servers.push(["serveBun", serveBun]);

const GOODBYE = 'event: sse:reset\ndata: {"reason":"shutdown"}\n\n';
const local = { port: 0, hostname: "127.0.0.1" };
const quiet = { error: () => {} };

async function streams(hub: Hub, server: RunningServer, count: number): Promise<Promise<string>[]> {
  const responses = await Promise.all(Array.from({ length: count }, () => fetch(server.url)));
  await eventually(() => hub.clientCount === count, { what: `${count} clients` });
  return responses.map((response) => response.text());
}

for (const [name, serve] of servers) {
  test(`${name}: every client has its last event and the goodbye when shutdown settles`, async () => {
    const hub = createHub();
    const server = await serve(hub.handler, { hub, ...local });
    const texts = await streams(hub, server, 20);
    hub.publish({ data: "last" });
    await server.shutdown();
    for (const text of await Promise.all(texts)) {
      assert(text.endsWith(`data: last\n\n${GOODBYE}`), text);
    }
    await assertRejects(() => fetch(server.url));
  });

  test(`${name}: the hub is given what the runtime says of a request`, async () => {
    const hosts: object[] = [];
    const handler = (_: Request, host: object): Response => {
      hosts.push(host);
      return new Response("ok");
    };
    const server = await serve(handler, local);
    await (await fetch(server.url)).text();
    await server.shutdown();
    const known = { serveDeno: "completed", serveBun: "timeout", serveNode: "outgoing" }[name];
    assert(known !== undefined && hosts.every((host) => known in host), Object.keys(hosts).join());
  });

  test(`${name}: a handler that throws is answered with 500 internal`, async () => {
    const handler = (): Response => {
      throw new Error("boom");
    };
    const server = await serve(handler, { ...local, logger: quiet });
    const response = await fetch(server.url);
    assertEquals([response.status, (await response.json()).code], [500, "internal"]);
    await server.shutdown();
  });

  test(`${name}: a port that is taken makes it reject`, async () => {
    const first = await serve(() => new Response(), local);
    await assertRejects(() => serve(() => new Response(), { ...local, port: first.port }));
    await first.shutdown();
  });

  test(`${name}: a request under way when a shutdown begins is still answered`, async () => {
    let release = (): void => {};
    let asked = 0;
    const handler = async (): Promise<Response> => {
      asked++;
      await new Promise<void>((resolve) => release = resolve);
      return new Response("answered");
    };
    const server = await serve(handler, local);
    const answer = fetch(server.url).then((response) => response.text());
    await eventually(() => asked === 1, { what: "the request" });
    const down = server.shutdown();
    release();
    assertEquals(await answer, "answered");
    await down;
  });

  test(`${name}: the port is closed when the first goodbye comes, not only when the last has`, async () => {
    const hub = createHub();
    let end = (): void => {};
    const held: Stoppable = { shutdown: () => new Promise((resolve) => end = resolve) };
    const server = await serve(hub.handler, { hub: [hub, held], ...local });
    const texts = await streams(hub, server, 2);
    const down = server.shutdown();
    await Promise.all(texts);
    await assertRejects(() => fetch(server.url));
    end();
    await down;
  });

  test(`${name}: a drain serves newcomers while it is a lame duck, and closes the port after`, async () => {
    const hub = createHub();
    const server = await serve(hub.handler, { hub, ...local });
    const [first] = await streams(hub, server, 1);
    const drained = server.drain({ lameDuckMs: 100, spreadMs: 0 });
    assertEquals(hub.state, "lame_duck");
    const late = await (await fetch(server.url)).text();
    assert(late.endsWith(`retry: 1000\n\n${GOODBYE}`), late);
    assertEquals(await first?.then((text) => text.endsWith(GOODBYE)), true);
    await drained;
    await assertRejects(() => fetch(server.url));
  });

  test(`${name}: a request half sent when the port closes is refused or cut, and its connection closed`, async () => {
    let asked = 0;
    let end = (): void => {};
    const hub: Stoppable = { shutdown: () => new Promise((resolve) => end = resolve) };
    const handler = (): Response => new Response(`answer ${++asked}`);
    const server = await serve(handler, { hub, ...local });
    const socket = await open(server.port);
    let text = "";
    const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    socket.on("data", (chunk: string) => text += chunk).on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await eventually(() => text.includes("answer 1"), { what: "the answer" });
    text = "";
    socket.write("GET / HTTP/1.1\r\n");
    // So that the server has read it; an answer shows that it has read what was sent before.
    await (await fetch(server.url)).text();
    const down = server.shutdown();
    socket.write("Host: a\r\n\r\n");
    await closed;
    assert(text === "" || /^HTTP\/1.1 503 [^]*\r\nconnection: close\r\n/i.test(text), text);
    end();
    await down;
  });

  test(`${name}: a stream that no hub ends is cut after shutdownMs`, async () => {
    const body = new ReadableStream<Uint8Array>({ start: (c) => c.enqueue(new Uint8Array(1)) });
    const server = await serve(() => new Response(body), { ...local, shutdownMs: 20 });
    const reader = (await fetch(server.url)).body?.getReader();
    await reader?.read();
    const next = reader?.read().then(({ done }) => done ? "ended" : "more", () => "cut");
    await server.shutdown();
    assert(await next !== "more");
  });
}

test("a server for another runtime says so", async () => {
  const other: Serve = "Deno" in globalThis ? serveBun : serveDeno;
  await assertRejects(() => other(() => new Response(), local), Error, "another runtime");
});
