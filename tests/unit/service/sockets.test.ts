/**
 * The service on this runtime's own server, over real sockets.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { createHub } from "../../../src/hub/hub.ts";
import { createService } from "../../../src/service/service.ts";
import { FrameReader } from "../../../src/testing/frames.ts";
import { serve } from "../../../src/testing/serve.ts";
import { createMemoryTicketStore, createTickets } from "../../../src/tickets/tickets.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { Lines } from "../hub/harness.ts";
import { authorizing, CountedTickets, identify, KEY, KEYS, told } from "./world.ts";

test("over a socket: fifty presenters, one stream, what is published with a key, and the goodbye", async () => {
  const hub = createHub({ logger: new Lines() });
  const tickets = createTickets({ store: createMemoryTicketStore() });
  const { authorize } = authorizing();
  const service = createService({ hub, identify, authorize, tickets, publish: KEYS });
  const server = await serve(hub, { handler: service.fetch });
  const post = (path: string, body: unknown, headers: Record<string, string>) =>
    fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const minted = await post("/ticket", { topics: ["open:1"] }, { "X-User": "ada" });
  const { ticket } = await minted.json();
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => fetch(`${server.url}/events?ticket=${ticket}`)),
  );
  const [stream, ...more] = answers.filter(({ status }) => status === 200);
  assertEquals(more.length, 0);
  const refusals = answers.filter((answer) => answer !== stream).map(told);
  assertEquals([...new Set(await Promise.all(refusals))], ["401 ticket_invalid"]);
  const reader = new FrameReader(stream?.body ?? null);
  const [retry, hello] = await reader.read(2);
  assertEquals([retry?.event, hello?.event], ["retry", "sse:hello"]);
  const published = await post("/publish", { topic: "open:1", data: "hé\n" }, {
    Authorization: `Bearer ${KEY}`,
  });
  assertEquals(await published.json(), { offset: "1" });
  assertEquals((await reader.read(1))[0]?.data, "hé\n");
  await server.shutdown();
  assertEquals((await reader.read(1))[0]?.data, '{"reason":"shutdown"}');
  await reader.cancel();
});

test("over a socket: a client that leaves while its ticket is looked up leaves no stream behind", async () => {
  const hub = createHub({ logger: new Lines() });
  const tickets = new CountedTickets();
  const service = createService({ hub, identify, authorize: () => true, tickets });
  const server = await serve(hub, { handler: service.fetch });
  const ticket = await tickets.mint({ user: "ada", topics: ["open:1"] });
  let release = (): void => {};
  tickets.before = () => new Promise((resolve) => release = resolve);
  const leaving = new AbortController();
  const request = fetch(`${server.url}/events?ticket=${ticket}`, { signal: leaving.signal })
    .catch(() => "gone");
  await eventually(() => tickets.presented.length === 1, { what: "the ticket" });
  leaving.abort();
  assertEquals(await request, "gone");
  // The server hears of it by its socket: another request that is answered says that it had time to.
  await (await fetch(`${server.url}/health`)).body?.cancel();
  release();
  // Where the runtime said in time that it left, no stream came of the ticket; else the stream has ended.
  const settled = () => tickets.givenBack === 1 || hub.metrics().departures.closed === 1;
  await eventually(settled, { what: "the end of it" });
  assertEquals(hub.clientCount, 0);
  await server.shutdown();
});
