import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { mintHandler, type MintOptions } from "../../../src/cluster/handlers/mint.ts";
import { TicketError } from "../../../src/errors/ticket.ts";
import type { HubState } from "../../../src/hub/types.ts";
import { test } from "../../support/test.ts";
import { Lines } from "../hub/harness.ts";
import { authorizing, CountedTickets, identify, request, told } from "../service/world.ts";

function minting(options: Partial<MintOptions> = {}) {
  const tickets = new CountedTickets();
  const logger = new Lines();
  const { asked, authorize } = authorizing();
  const hub: { state: HubState } = { state: "serving" };
  const mint = mintHandler({ hub, tickets, identify, authorize, logger, ...options });
  const post = (body: unknown, as = "ada") => mint(request("/ticket", { as, body }));
  return { mint, post, tickets, logger, asked, hub };
}

test("a ticket stands for who asked, what is bound to them, and what they were allowed", async () => {
  const { mint, tickets, asked } = minting({
    boundTopics: ({ user, account }) => [`user:${user}`, `account:${account}`],
  });
  const sent = request("/ticket", {
    as: "ada of 7",
    body: { topics: ["open:1", "open:2", "open:1", "user:ada"], user: "eve", account: "8" },
  });
  const response = await mint(sent);
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("cache-control"), "no-store");
  assert(tickets.holds((await response.json()).ticket));
  assertEquals(tickets.minted, [{
    user: "ada",
    account: "7",
    session: "session of ada",
    topics: ["user:ada", "account:7", "open:1", "open:2"],
  }]);
  // What is bound was decided by the application already.
  assertEquals(
    asked.map(({ user, account, topic }) => [user, account, topic]),
    [["ada", "7", "open:1"], ["ada", "7", "open:2"]],
  );
  assert(asked.every((call) => call.request === sent));
});

test("every topic is put to the application once, and one that is refused refuses them all", async () => {
  const topics = fc.uniqueArray(
    fc.oneof(fc.integer({ min: 0, max: 99 }).map((n) => `open:${n}`), fc.constant("secret")),
    { minLength: 1, maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(topics, async (list) => {
      const { post, tickets, asked } = minting();
      const status = await told(post({ topics: list }));
      assertEquals(status, list.includes("secret") ? "403 forbidden" : "200");
      assertEquals(asked.map(({ topic }) => topic), list);
      assertEquals(tickets.minted.length, list.includes("secret") ? 0 : 1);
    }),
    { numRuns: 50 },
  );
});

test("only true is yes: an answer of another kind, and one that fails, mint nothing", async () => {
  for (const answer of [false, undefined, null, 1, "yes", {}]) {
    const { post, tickets } = minting({ authorize: () => answer as boolean });
    assertEquals(await told(post({ topics: ["open:1"] })), "403 forbidden");
    const late = minting({ authorize: () => Promise.resolve(answer as boolean) });
    assertEquals(await told(late.post({ topics: ["open:1"] })), "403 forbidden");
    assertEquals(tickets.minted.length + late.tickets.minted.length, 0);
  }
  const failing = minting({
    authorize: ({ topic }) => {
      if (topic === "open:1") return Promise.reject(new Error("the database is away"));
      throw new Error("the other one, too");
    },
  });
  assertEquals(await told(failing.post({ topics: ["open:1", "open:2"] })), "500 internal");
  assertEquals(failing.logger.lines.length, 1);
});

test("without authorize nobody gets a ticket, whatever is bound to them", async () => {
  const tickets = new CountedTickets();
  const mint = mintHandler({
    hub: { state: "serving" },
    tickets,
    identify,
    boundTopics: () => ["user:ada"],
    logger: new Lines(),
  });
  for (const body of [{ topics: ["open:1"] }, {}, { topics: [] }]) {
    assertEquals(await told(mint(request("/ticket", { as: "ada", body }))), "403 forbidden");
  }
  assertEquals(await told(mint(request("/ticket", { body: {} }))), "401 unauthenticated");
  const unread = request("/ticket", { as: "ada", body: "{" });
  assertEquals(await told(mint(unread)), "403 forbidden");
  assertEquals([unread.bodyUsed, tickets.minted], [false, []]);
});

test("nobody, and somebody whose authority has ended, is unauthenticated before the body is read", async () => {
  const expired = minting({ identify: () => ({ user: "ada", expiresAt: Date.now() - 1 }) });
  assertEquals(await told(expired.post({ topics: ["open:1"] })), "401 unauthenticated");
  const { mint, tickets } = minting();
  const sent = request("/ticket", { body: "{" });
  assertEquals(await told(mint(sent)), "401 unauthenticated");
  assertEquals(sent.bodyUsed, false);
  assertEquals(tickets.minted, []);
});

test("an authority that ends goes into the ticket; one that never does leaves nothing there", async () => {
  const expiresAt = Date.now() + 60_000;
  const ending = minting({ identify: () => ({ user: "ada", expiresAt }) });
  await ending.post({ topics: ["open:1"] });
  assertEquals(ending.tickets.minted, [{ user: "ada", topics: ["open:1"], expiresAt }]);
  const never = minting({ identify: () => ({ user: "ada", expiresAt: Infinity }) });
  await never.post({ topics: ["open:1"] });
  assertEquals(never.tickets.minted, [{ user: "ada", topics: ["open:1"] }]);
});

test("an identity that is none is the application's mistake, not the client's", async () => {
  const wrong = [{}, { user: "" }, { user: 7 }, { user: "x".repeat(257) }, {
    user: "ada",
    expiresAt: "soon",
  }];
  for (const identity of wrong) {
    const { post, tickets, logger } = minting({ identify: () => identity as { user: string } });
    assertEquals(await told(post({ topics: ["open:1"] })), "500 internal");
    assertEquals([tickets.minted.length, logger.lines.length], [0, 1]);
  }
});

test("a hub that sends its clients away mints nothing; one that is about to still does", async () => {
  const { post, hub, tickets, asked } = minting();
  hub.state = "lame_duck";
  assertEquals(await told(post({ topics: ["open:1"] })), "200");
  for (const state of ["draining", "stopped"] as const) {
    hub.state = state;
    const refused = await post({ topics: ["open:1"] });
    assertEquals(refused.headers.get("Retry-After"), "1");
    assertEquals(await told(refused), "503 sse_unavailable");
  }
  assertEquals([tickets.minted.length, asked.length], [1, 1]);
});

test("a ticket is for 1 to 256 topics within the grammar, never for everything", async () => {
  const { post, tickets } = minting();
  const open = (n: number) => Array.from({ length: n }, (_, i) => `open:${i}`);
  for (
    const topics of [
      [],
      [""],
      ["open:1", ""],
      ["open:\n"],
      ["open:\u202e"],
      ["open:\ud800"],
      ["o".repeat(257)],
      open(257),
      Array.from({ length: 300 }, () => "open:1"),
    ]
  ) {
    assertEquals(
      await told(post({ topics })),
      "400 sse_topics",
      JSON.stringify(topics).slice(0, 60),
    );
  }
  assertEquals(await told(post({})), "400 sse_topics");
  assertEquals(tickets.minted, []);
  assertEquals(await told(post({ topics: open(256) })), "200");
  const bound = minting({ boundTopics: () => ["user:ada"] });
  assertEquals(await told(bound.post({ topics: open(256) })), "400 sse_topics");
  assertEquals(await told(bound.post({ topics: open(255) })), "200");
});

test("a bound topic outside the grammar is the application's mistake: it never means everything", async () => {
  for (const topic of ["", "a\nb"]) {
    const { post, tickets } = minting({ boundTopics: () => [topic] });
    assertEquals(await told(post({ topics: ["open:1"] })), "500 internal");
    assertEquals(tickets.minted, []);
  }
});

test("a request without a body asks for what is bound, and nothing else without a type is taken", async () => {
  const { mint, tickets } = minting({ boundTopics: () => ["user:ada"] });
  const bare = { as: "ada", method: "POST" };
  assertEquals(await told(mint(request("/ticket", bare))), "200");
  assertEquals(tickets.minted[0]?.topics, ["user:ada"]);
  const bytes = new TextEncoder().encode('{"topics":[]}');
  const untyped = request("/ticket", { ...bare, body: bytes });
  untyped.headers.delete("Content-Type");
  assertEquals(await told(mint(untyped)), "415 ticket_content_type");
});

test("a store that is away is 503, and the log says so without a ticket", async () => {
  const { post, logger, tickets } = minting();
  const secret = "x".repeat(43);
  tickets.before = () =>
    Promise.reject(new TicketError("unavailable", `it timed out after ${secret}`));
  const refused = await post({ topics: ["open:1"] });
  assertEquals(refused.headers.get("Retry-After"), "1");
  assertEquals(await told(refused), "503 ticket_unavailable");
  assertEquals(logger.lines.length, 1);
  assert(!logger.lines[0]?.includes(secret));
});
