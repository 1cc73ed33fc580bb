import { assert, assertEquals } from "@std/assert";
import { ownStreamHandler } from "../../../src/cluster/handlers/own_stream.ts";
import { ticketStreamHandler } from "../../../src/cluster/handlers/ticket_stream.ts";
import { TicketError } from "../../../src/errors/ticket.ts";
import type { HubOptions } from "../../../src/hub/options.ts";
import type { ServeOptions } from "../../../src/hub/types.ts";
import { FrameReader } from "../../../src/testing/frames.ts";
import { test } from "../../support/test.ts";
import { bench, gate, RING, settle } from "../hub/harness.ts";
import {
  authorizing,
  CountedTickets,
  everything,
  identify,
  request,
  told,
} from "../service/world.ts";

/** A hub, tickets, and both ways to a stream. */
function streaming(options: HubOptions = {}) {
  const { hub, clock, logger } = bench({ replay: RING, ...options });
  const served: ServeOptions[] = [];
  const watched = {
    serve(asked: Request, given: ServeOptions = {}): Response {
      if (asked.method === "GET") served.push(given);
      return hub.serve(asked, given);
    },
  };
  const tickets = new CountedTickets();
  const claims = { user: "ada", account: "7", topics: ["open:1"] };
  const byTicket = ticketStreamHandler({ hub: watched, tickets, logger });
  // Bun's server, or what looks like it: without it a hub warns on Bun.
  const present = (ticket: string, query = "", asked = {}) =>
    byTicket(request(`/events?ticket=${ticket}${query}`, asked), { timeout() {} });
  return { hub, watched, clock, logger, served, tickets, claims, byTicket, present };
}

test("a stream is what the ticket's claims say, whatever its URL says", async () => {
  const { hub, tickets, served, byTicket } = streaming();
  const expiresAt = Date.now() + 1e12;
  const ticket = await tickets.mint({ user: "ada", topics: ["open:1", "open:2"], expiresAt });
  const host = { timeout() {} };
  const query = "&topic=secret&user=eve&account=8&expiresAt=0&history=true";
  const headers = { "SSE-Client": "tab-1", "X-User": "eve" };
  const response = await byTicket(
    request(`/events?ticket=${ticket}${query}`, { headers }),
    host,
  );
  assertEquals(served, [{
    topics: ["open:1", "open:2"],
    user: "ada",
    expiresAt,
    clientTag: "tab-1",
    host,
  }]);
  const reader = new FrameReader(response.body);
  const [, hello] = await reader.read(2);
  assertEquals(hub.ownerOf(JSON.parse(hello?.data ?? "").connection), "ada");
  hub.publish({ topic: "secret", data: "not for ada" });
  hub.publish({ topic: "open:2", data: "for ada" });
  assertEquals((await reader.read(1))[0]?.data, "for ada");
  await reader.cancel();
});

test("of the URL a ticket's stream takes the cursor and the word on lag, which no header could carry", async () => {
  const { hub, tickets, claims, present } = streaming();
  hub.publish({ topic: "open:1", data: "missed" });
  const cursor = encodeURIComponent(`${hub.position().epoch}:0`);
  const response = await present(await tickets.mint(claims), `&last_event_id=${cursor}&lag=1`);
  const reader = new FrameReader(response.body);
  const [, hello, missed] = await reader.read(3);
  assertEquals(JSON.parse(hello?.data ?? "").verdict, "resumed");
  assertEquals(missed?.data, "missed");
  await reader.cancel();
});

test("of fifty who present one ticket at once, one gets a stream", async () => {
  const { hub, tickets, claims, present } = streaming();
  const ticket = await tickets.mint(claims);
  const { opened, open } = gate();
  tickets.before = () => opened;
  const presenting = Array.from({ length: 50 }, () => present(ticket));
  open();
  const answers = await Promise.all(presenting);
  const streams = answers.filter(({ status }) => status === 200);
  assertEquals([streams.length, hub.clientCount], [1, 1]);
  const refused = await Promise.all(answers.filter(({ status }) => status !== 200).map(everything));
  assertEquals([refused.length, new Set(refused).size], [49, 1]);
  await streams[0]?.body?.cancel();
});

test("no ticket, a used one, one of ended authority and invented ones are one and the same refusal", async () => {
  const { tickets, claims, present, byTicket, logger } = streaming();
  const used = await tickets.mint(claims);
  await (await present(used)).body?.cancel();
  const ended = await tickets.mint({ ...claims, expiresAt: 1 });
  const invented = ["", "x", "x".repeat(43), "%00%0a", "..%2f", "x".repeat(5000), "%ff"];
  const answers = await Promise.all([
    byTicket(request("/events")),
    ...[used, ended, ended, ...invented].map((ticket) => present(ticket)),
  ].map(everything));
  assertEquals(new Set(answers).size, 1);
  assert(answers[0]?.startsWith("[401,"));
  assert(answers[0]?.includes('\\"ticket_invalid\\"'));
  // Each was looked up, also what cannot be a ticket: so it takes the same time.
  assertEquals(tickets.presented.length, 1 + answers.length);
  assertEquals(logger.lines, []);
});

test("a HEAD uses no ticket, and says whether a stream could be had", async () => {
  const { hub, tickets, claims, present } = streaming({ maxClients: 1 });
  const ticket = await tickets.mint(claims);
  const head = await present(ticket, "", { method: "HEAD" });
  assertEquals([head.status, head.body, head.headers.get("content-type")], [
    200,
    null,
    "text/event-stream",
  ]);
  const other = hub.serve(request("/"));
  assertEquals((await present(ticket, "", { method: "HEAD" })).status, 503);
  await other.body?.cancel();
  assertEquals([tickets.presented.length, tickets.holds(ticket)], [0, true]);
  assertEquals(await told(present(ticket)), "200");
});

test("a hub that is full, draining or stopped uses no ticket", async () => {
  const { hub, clock, tickets, claims, present } = streaming({ maxClients: 1 });
  const ticket = await tickets.mint(claims);
  const other = hub.serve(request("/"));
  const refused = await present(ticket);
  assertEquals(refused.headers.get("Retry-After"), "2");
  assertEquals(await told(refused), "503 sse_unavailable");
  hub.setMaxClients(0);
  const others = [other, hub.serve(request("/")), hub.serve(request("/"))];
  const drained = hub.drain({ lameDuckMs: 1000, spreadMs: 60_000 });
  assertEquals(hub.state, "lame_duck");
  const second = await tickets.mint(claims);
  const stream = await present(second);
  assertEquals(stream.status, 200, "a lame duck still serves");
  clock.advance(1000);
  await settle();
  assertEquals(hub.state, "draining");
  const leaving = await present(ticket);
  assertEquals(leaving.headers.get("Retry-After"), "1");
  assertEquals(await told(leaving), "503 sse_unavailable");
  for (const { body } of [stream, ...others]) await body?.cancel();
  await hub.shutdown();
  await drained;
  assertEquals(hub.state, "stopped");
  assertEquals(await told(present(ticket)), "503 sse_unavailable");
  assertEquals(tickets.presented, [second]);
  assert(tickets.holds(ticket));
});

test("a ticket whose stream came to nothing is given back: the hub filled up, or its client left", async () => {
  const { hub, tickets, claims, present } = streaming({ maxClients: 1 });
  const ticket = await tickets.mint(claims);
  const { opened, open } = gate();
  tickets.before = () => opened;
  const late = present(ticket);
  const other = hub.serve(request("/"));
  open();
  assertEquals(await told(late), "503 sse_unavailable");
  assertEquals([tickets.givenBack, tickets.holds(ticket)], [1, true]);
  await other.body?.cancel();

  if ("Deno" in globalThis) return; // there the stream's own cancel says it
  const left = new AbortController();
  const again = gate();
  tickets.before = () => again.opened;
  const leaving = present(ticket, "", { signal: left.signal });
  left.abort();
  again.open();
  assertEquals((await leaving).body, null);
  assertEquals([tickets.givenBack, tickets.holds(ticket), hub.clientCount], [2, true, 0]);
});

test("a ticket is given back also when what the application adds to the stream fails", async () => {
  const { hub, logger, tickets, claims } = streaming();
  const ticket = await tickets.mint(claims);
  const failing = ticketStreamHandler({
    hub,
    tickets,
    logger,
    stream: () => {
      throw new Error(`no such thing as ${ticket}`);
    },
  });
  assertEquals(await told(failing(request(`/events?ticket=${ticket}`))), "500 internal");
  assertEquals([tickets.holds(ticket), logger.lines.length], [true, 1]);
  assert(!logger.lines[0]?.includes(ticket));
});

test("a stream by ticket is a GET, and a store that is away is 503", async () => {
  const { tickets, claims, present, logger } = streaming();
  const ticket = await tickets.mint(claims);
  const posted = await present(ticket, "", { method: "POST" });
  assertEquals(posted.headers.get("Allow"), "GET, HEAD");
  assertEquals(await told(posted), "405 sse_method");
  tickets.before = () => Promise.reject(new TicketError("unavailable", "it timed out"));
  const refused = await present(ticket);
  assertEquals(refused.headers.get("Retry-After"), "1");
  assertEquals(await told(refused), "503 ticket_unavailable");
  assertEquals(logger.lines.length, 1);
});

test("what the application adds to a stream cannot change whose it is", async () => {
  const { watched, served, tickets, claims, logger } = streaming();
  const ticket = await tickets.mint(claims);
  const more = { topics: ["secret"], user: "eve", history: true as const };
  const byTicket = ticketStreamHandler({ hub: watched, tickets, logger, stream: () => more });
  await (await byTicket(request(`/events?ticket=${ticket}`))).body?.cancel();
  assertEquals([served[0]?.topics, served[0]?.user, served[0]?.history], [["open:1"], "ada", true]);
});

/** A stream without a ticket. */
function own(options: Partial<Parameters<typeof ownStreamHandler>[0]> = {}) {
  const { watched, served, logger, hub } = streaming();
  const { asked, authorize } = authorizing();
  const open = ownStreamHandler({ hub: watched, identify, authorize, logger, ...options });
  return { hub, served, asked, open, logger };
}

test("without a ticket a stream carries what is bound, and what was allowed of what was asked", async () => {
  const { served, asked, open } = own({ boundTopics: ({ user }) => [`user:${user}`] });
  const sent = request("/events?topic=open:1&topic=open:2", { as: "ada of 7" });
  await (await open(sent)).body?.cancel();
  assertEquals([served[0]?.topics, served[0]?.user], [["user:ada", "open:1", "open:2"], "ada"]);
  assertEquals(asked.map(({ topic }) => topic), ["open:1", "open:2"]);
  assert(asked.every((call) => call.request === sent && call.account === "7"));
  assertEquals(
    await told(open(request("/events?topic=open:1&topic=no", { as: "ada" }))),
    "403 forbidden",
  );
  assertEquals(await told(open(request("/events?topic=open:1"))), "401 unauthenticated");
  assertEquals(served.length, 1);
});

test("without a ticket and without topics there is no stream: never everything", async () => {
  const { served, open } = own();
  for (const query of ["", "?topic=", "?topic=open:1&topic=", "?topics=open:1", "?topic=a%0ab"]) {
    assertEquals(await told(open(request(`/events${query}`, { as: "ada" }))), "400 sse_topics");
  }
  const nobody = own({ authorize: undefined, boundTopics: () => ["user:ada"] });
  assertEquals(await told(nobody.open(request("/events", { as: "ada" }))), "403 forbidden");
  assertEquals(served.length + nobody.served.length, 0);
});

test("nobody is nobody, whether the application says null or nothing, at once or later", async () => {
  for (const nobody of [null, undefined]) {
    for (const identify of [() => nobody as null, () => Promise.resolve(nobody as null)]) {
      assertEquals(await told(own({ identify }).open(request("/events"))), "401 unauthenticated");
    }
  }
});

test("an application that answers at once gets its stream in the same turn, a slow one later", async () => {
  const quick = own().open(request("/events?topic=open:1", { as: "ada" }));
  assert(quick instanceof Response);
  await quick.body?.cancel();
  const slow = own({
    identify: (asked) => Promise.resolve(identify(asked)),
    authorize: () => Promise.resolve(true),
  });
  const late = slow.open(request("/events?topic=any", { as: "ada" }));
  assert(late instanceof Promise);
  await (await late).body?.cancel();
  assertEquals(slow.served[0]?.topics, ["any"]);
});

test("an application that fails gets no stream, and its words go to the log, not to the client", async () => {
  for (
    const identify of [
      () => {
        throw new Error("password is hunter2");
      },
      () => Promise.reject(new Error("password is hunter2")),
    ]
  ) {
    const { open, logger, served } = own({ identify });
    const answer = await everything(open(request("/events?topic=open:1", { as: "ada" })));
    assert(answer.startsWith("[500,") && !answer.includes("hunter2"));
    assertEquals([logger.lines.length, served.length], [1, 0]);
  }
});
