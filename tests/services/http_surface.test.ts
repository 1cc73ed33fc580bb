/**
 * The HTTP surface of a service and of a hub, on real servers, by bytes that no client library would send.
 *
 * @module
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";
import { KEY, NEXT_KEY } from "../unit/service/world.ts";
import {
  bodiesAreBounded,
  bodiesAreNoRequests,
  bombsDoNotGoOff,
  fieldsAreChecked,
  holdBodies,
} from "./http_surface_bodies.ts";
import {
  methodsAreRefused,
  nothingElseIsThere,
  oldProbesAreAnswered,
  originsAreListed,
} from "./http_surface_methods.ts";
import { SERVING, Surface, told } from "./http_surface_server.ts";
import { framesAreNotSplit } from "./http_surface_frames.ts";
import { failuresStayInside, oddRequestsAreHarmless } from "./http_surface_requests.ts";
import { topicsAreTexts } from "./http_surface_topics.ts";

const MIB = 1_048_576;
/** A leak of all that was sent would be several times that; a runtime's heap may grow by as much. */
const MOST_GROWTH = 1024 * MIB;
const ADA = "X-User: ada\nContent-Type: application/json";

for (const { name, command } of SERVING) {
  test(`${name}: whatever is sent over a socket is refused by name or harmless, and afterwards the server serves as before`, async () => {
    await using surface = await Surface.start(command);
    await serves(surface);
    const before = (await surface.state()).rss;
    const letGo = holdBodies(surface);
    await methodsAreRefused(surface);
    await nothingElseIsThere(surface);
    await oldProbesAreAnswered(surface);
    await originsAreListed(surface);
    await bodiesAreBounded(surface);
    await bodiesAreNoRequests(surface);
    await bombsDoNotGoOff(surface);
    await fieldsAreChecked(surface);
    await oddRequestsAreHarmless(surface);
    await failuresStayInside(surface);
    await framesAreNotSplit(surface);
    await topicsAreTexts(surface);
    letGo();
    assertEquals(surface.faults, []);
    await eventually(async () => (await surface.state()).clients === 0, { what: "all to leave" });
    await serves(surface);
    await logsAreClean(surface);
    const growth = (await surface.state()).rss - before;
    console.log(`${name}: the process has grown by ${Math.round(growth / MIB)} MiB`);
    assertLess(growth, MOST_GROWTH);
  });
}

/** A client that does all as it should gets its ticket, its stream and its event. */
async function serves(surface: Surface): Promise<void> {
  const minted = await surface.send(`POST /sse/ticket HTTP/1.1\n${ADA}`, {
    body: '{"topics":["a"]}',
  });
  const { ticket } = JSON.parse(minted.body);
  let published: Promise<unknown> | undefined;
  const { body } = await surface.send(`GET /sse/events?ticket=${ticket} HTTP/1.1`, {
    until(text) {
      if (!text.includes("event: sse:hello")) return false;
      const head =
        `POST /sse/publish HTTP/1.1\nAuthorization: Bearer ${KEY}\nContent-Type: application/json`;
      published ??= surface.send(head, { body: '{"topic":"a","data":"as ever"}' });
      return text.includes("data: as ever\n\n");
    },
  });
  assert(/\n\nid: [0-9a-f]{16}:\d+\ndata: as ever\n\n$/.test(body), body);
  await published;
  const again = await surface.send(`GET /sse/events?ticket=${ticket} HTTP/1.1`);
  assertEquals(told(again), "401 ticket_invalid");
}

/** No control characters, tickets, cursors, keys or stacks without end, and nothing beside the logger. */
async function logsAreClean(surface: Surface): Promise<void> {
  const { lines } = await surface.state();
  assertLess(lines.length, 200, lines.slice(0, 5).join("\n"));
  for (const line of lines) {
    assertLess(line.length, 300, line);
    // deno-lint-ignore no-control-regex -- control characters are what this looks for
    assert(!/[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]/.test(line), JSON.stringify(line));
    assert(!/[A-Za-z0-9_-]{43}|[0-9a-f]{16}:\d/.test(line), line);
    assert(!line.includes(KEY) && !line.includes(NEXT_KEY), line);
  }
  assert(/^LISTEN \S+\s*$/.test(surface.output), surface.output);
}
