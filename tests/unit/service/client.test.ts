/**
 * Our client over the service, as its documentation shows the two.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createStream } from "../../../src/client/stream.ts";
import type { LifecycleRecord } from "../../../src/client/records.ts";
import { createHub } from "../../../src/hub/hub.ts";
import { createService } from "../../../src/service/service.ts";
import { serve } from "../../../src/testing/serve.ts";
import { createMemoryTicketStore, createTickets } from "../../../src/tickets/tickets.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { Lines, RING } from "../hub/harness.ts";
import { authorizing, identify } from "./world.ts";

test("our client asks for a ticket at each attempt, comes back with its cursor and its added topics, and misses nothing", async () => {
  const hub = createHub({ replay: RING, logger: new Lines(), reconnectDelayMs: 1 });
  const { asked, authorize } = authorizing();
  const tickets = createTickets({ store: createMemoryTicketStore() });
  const service = createService({
    hub,
    identify,
    authorize,
    tickets,
    boundTopics: () => ["user:ada"],
  });
  const server = await serve(hub, { handler: service.fetch });
  const headers = { "X-User": "ada" };
  const minted: string[] = [];
  const seen: string[] = [];
  const records: LifecycleRecord[] = [];
  const stream = createStream({
    url: async ({ signal }) => {
      const response = await fetch(`${server.url}/ticket`, {
        method: "POST",
        headers: { ...headers, "Content-Type": "application/json" },
        body: JSON.stringify({ topics: ["open:1"] }),
        signal,
      });
      const { ticket } = await response.json();
      minted.push(ticket);
      return `${server.url}/events?ticket=${ticket}`;
    },
    headers,
    subscribeUrl: `${server.url}/subscribe`,
    unsubscribeUrl: `${server.url}/unsubscribe`,
    timing: { baseMs: 1, capMs: 20 },
    onFrame: ({ data }) => void seen.push(data),
    onLifecycle: (record) => void records.push(record),
  });
  const topics = ["open:1", "open:2", "user:ada"];
  const published: string[] = [];
  const publish = () => {
    for (const topic of topics) {
      published.push(`${topic} ${published.length}`);
      hub.publish({ topic, data: published.at(-1) ?? "" });
    }
  };
  stream.start();
  await stream.subscribe("open:2");
  publish();
  // Cut by the server twice; events go on meanwhile.
  for (let cut = 1; cut <= 2; cut++) {
    await eventually(() => seen.length === published.length, { what: "all so far" });
    const before = minted.length;
    hub.disconnect({ where: () => true });
    publish();
    await eventually(() => minted.length > before && stream.state() === "open", {
      what: "the return",
    });
    publish();
  }
  await eventually(() => seen.length >= published.length, { what: "everything" });
  assertEquals(seen.toSorted(), published.toSorted());
  assertEquals(new Set(minted).size, minted.length);
  const verdicts = () =>
    records.flatMap((record) => record.kind === "subscribed" ? [record.verdict] : []);
  // Its frames may come sooner than the answer to a subscription.
  await eventually(() => verdicts().length >= 3, { what: "the third subscription" });
  assertEquals(verdicts(), ["fresh", "resumed", "resumed"]);
  assert(asked.every(({ user }) => user === "ada"));
  assertEquals(asked.filter(({ topic }) => topic === "open:2").length, 3);
  assert(minted.every((ticket) => !JSON.stringify(records).includes(ticket)));
  stream.stop();
  await server.shutdown();
});
