/**
 * The service's surface, in the hands of strangers.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { createService } from "../../../src/service/service.ts";
import { createMemoryTicketStore, createTickets } from "../../../src/tickets/tickets.ts";
import { test } from "../../support/test.ts";
import { bench } from "../hub/harness.ts";
import { authorizing, identify, KEYS, request } from "./world.ts";

const PATHS = ["events", "ticket", "subscribe", "unsubscribe", "alive", "digest", "publish"];
PATHS.push("presence", "metrics", "nowhere", "");
const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
const TYPES = ["application/json", "text/plain", "application/x-www-form-urlencoded", ""];

/** What a stranger may send. */
const strange = fc.record({
  path: fc.constantFrom(...PATHS),
  method: fc.constantFrom(...METHODS),
  query: fc.array(
    fc.tuple(
      fc.constantFrom("ticket", "topic", "user", "last_event_id", "lag", "key"),
      fc.string({ unit: "binary", maxLength: 60 }),
    ),
    { maxLength: 4 },
  ),
  headers: fc.dictionary(
    fc.constantFrom("Authorization", "Cookie", "Last-Event-ID", "SSE-Client", "SSE-Lag", "Origin"),
    fc.stringMatching(/^[!-~]([ -~]{0,40}[!-~])?$/),
    { maxKeys: 3, noNullPrototype: true },
  ),
  type: fc.constantFrom(...TYPES),
  body: fc.oneof(fc.json(), fc.string({ unit: "binary" }), fc.uint8Array({ maxLength: 200 })),
});

/** How a refusal to somebody who has shown nothing may read. */
const REFUSALS = /^(?:401 (?:unauthenticated|ticket_invalid)|404 not_found|405 [a-z]+_method)$/;

test("whatever a stranger sends is refused in the envelope, and gets, changes and logs nothing", async () => {
  const { hub, logger } = bench();
  const { asked, authorize } = authorizing();
  const service = createService({
    ...{ hub, identify, authorize, logger, digest: () => [] },
    tickets: createTickets({ store: createMemoryTicketStore(), logger }),
    ...{ publish: KEYS, presence: KEYS, metrics: KEYS },
  });
  await fc.assert(
    fc.asyncProperty(strange, async ({ path, method, query, headers, type, body }) => {
      const search = new URLSearchParams(
        query.map(([name, value]) => [name, value.toWellFormed()]),
      );
      const sends = method !== "GET" && method !== "HEAD";
      const how = { method, headers: { ...headers, ...(type !== "" && { "Content-Type": type }) } };
      const response = await service.fetch(
        request(`/${path}?${search}`, sends ? { ...how, body } : how),
        { timeout() {} },
      );
      const text = await response.text();
      if (method === "HEAD") {
        // A HEAD says of a ticket's stream only whether the hub takes anybody.
        assert([200, 401, 404, 405].includes(response.status));
        assertEquals(text, "");
      } else {
        const { error, code, ...rest } = JSON.parse(text);
        assert(REFUSALS.test(`${response.status} ${code}`), `${response.status} ${text}`);
        assert(typeof error === "string" && error.length < 200);
        assertEquals(rest, {});
        assertEquals(response.headers.get("x-content-type-options"), "nosniff");
      }
      assert(![...response.headers.keys()].some((name) => name.startsWith("access-control")));
    }),
    { numRuns: 400 },
  );
  assertEquals([hub.position().head, hub.metrics().clients, asked.length], [0, 0, 0]);
  assertEquals([hub.presence().tags, logger.lines], [[], []]);
});

test("whatever somebody known sends, they hear what they may and nothing fails", async () => {
  const { hub, logger } = bench();
  const service = createService({
    ...{ hub, identify, logger, digest: () => [] },
    authorize: ({ topic }) => topic.startsWith("open:"),
    tickets: createTickets({ store: createMemoryTicketStore(), logger }),
  });
  const topic = fc.oneof(
    fc.constantFrom("open:1", "secret", "", "a\r\nb"),
    fc.string({ unit: "binary" }),
  );
  const sent = fc.oneof(
    fc.record({ path: fc.constant("/ticket"), body: fc.record({ topics: fc.array(topic) }) }),
    fc.record({
      path: fc.constantFrom("/ticket", "/subscribe", "/unsubscribe", "/digest"),
      body: fc.jsonValue(),
    }),
  );
  await fc.assert(
    fc.asyncProperty(sent, async ({ path, body }) => {
      const text = JSON.stringify(body) ?? "null";
      const response = await service.fetch(request(path, { as: "ada", body: text }));
      const { code, ticket } = await response.json();
      assert(response.status < 500, `${response.status} ${code}`);
      if (ticket === undefined) return;
      const topics: string[] = "topics" in Object(body) ? Object(body).topics : [];
      assert(topics.length > 0 && topics.every((one) => one.startsWith("open:")), text);
    }),
    { numRuns: 300 },
  );
  assertEquals(logger.lines, []);
});

test("a deep body is no deeper for us: a million brackets are refused like one", async () => {
  const { hub, logger } = bench();
  const service = createService({
    ...{ hub, identify, logger, maxBodyBytes: 4_194_304 },
    authorize: () => true,
    tickets: createTickets({ store: createMemoryTicketStore(), logger }),
  });
  const deep = `${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`;
  for (const body of ["[", deep, `{"topics":${deep}}`, `{"topics":["open:1"],"x":${deep}}`]) {
    const response = await service.fetch(request("/ticket", { as: "ada", body }));
    assert(response.status === 400 || response.status === 200, String(response.status));
    await response.body?.cancel();
  }
  assertEquals(logger.lines, []);
});
