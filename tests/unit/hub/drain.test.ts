import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ConfigError } from "../../../src/errors.ts";
import { test } from "../../support/test.ts";
import { ask, bench, Client, RING, settle } from "./harness.ts";

test("a drain fails the readiness first, then refuses newcomers, and sends clients away one by one", async () => {
  const { hub, clock } = bench({ replay: RING });
  const clients = Array.from({ length: 6 }, () => new Client(hub));
  await settle();
  assertEquals(hub.state, "serving");
  let over = false;
  hub.drain({ lameDuckMs: 2000, spreadMs: 600 }).then(() => over = true);
  assertEquals(hub.state, "lame_duck");
  clock.advance(1900);
  await settle();
  assertEquals(hub.serve(ask()).status, 200, "a lame duck still serves");
  assertEquals(clients.some(({ sink }) => sink.ended), false);
  clock.advance(100);
  await settle();
  assertEquals(hub.state, "draining");
  const refused = hub.serve(ask());
  assertEquals([refused.status, refused.headers.get("Retry-After")], [503, "1"]);
  hub.publish({ data: "late" });
  await settle();
  const open = (): number => clients.filter(({ sink }) => !sink.ended).length;
  const left = [open()];
  for (let i = 0; i < 7; i++) {
    clock.advance(100);
    await settle();
    left.push(open());
  }
  assert((left[0] ?? 0) >= 4 && left.at(-1) === 0, left.join());
  const last = clients.at(-1);
  assertEquals(last?.data, ["late"], "who is still there gets what comes");
  assertEquals(last?.story.slice(-2), ["retry 1000", "sse:reset"]);
  clock.advance(31_000); // the newcomer's runtime never read
  await settle();
  assertEquals([over, hub.state], [true, "stopped"]);
});

test("a second drain joins the first, and a shutdown meanwhile ends it at once", async () => {
  const { hub, clock } = bench({ replay: RING });
  const client = new Client(hub);
  await settle();
  const first = hub.drain({ lameDuckMs: 60_000 });
  assert(hub.drain() === first);
  await hub.shutdown();
  await first;
  assertEquals([client.named("sse:reset").length, hub.state, clock.pending], [1, "stopped", 0]);
});

test("a drain's signal ends the waiting, not the goodbyes", async () => {
  const { hub } = bench({ replay: RING });
  const clients = [new Client(hub), new Client(hub)];
  await settle();
  const hurry = new AbortController();
  const drained = hub.drain({ lameDuckMs: 60_000, spreadMs: 60_000, signal: hurry.signal });
  hurry.abort();
  await drained;
  assertEquals(clients.map((client) => client.named("sse:reset").length), [1, 1]);
});

test("a drain that could not be kept is refused by name, and the hub goes on", async () => {
  const { hub } = bench({ replay: RING });
  const error = await assertRejects(() => hub.drain({ lameDuckMs: -1 }), ConfigError);
  assertEquals(error.option, "lameDuckMs");
  await assertRejects(() => hub.drain({ spreadMs: NaN }), ConfigError, "spreadMs");
  assertEquals(hub.state, "serving");
});

test("a connection whose authority ends is told a minute before, and ended", async () => {
  const { hub, clock, presence } = bench({ replay: RING });
  const client = new Client(hub, { expiresAt: clock.now() + 90_000, user: "u" });
  await settle();
  clock.advance(29_000);
  await settle();
  assertEquals(client.named("sse:expiring"), []);
  clock.advance(1250);
  await settle();
  assertEquals(client.named("sse:expiring").map((data) => JSON.parse(data)), [{ in_ms: 60_000 }]);
  clock.advance(59_000);
  await settle();
  assertEquals(client.sink.ended, false);
  clock.advance(1000);
  await settle();
  assertEquals([client.sink.ended, client.named("sse:reset")], [true, []]);
  assertEquals(presence.at(-1)?.cause, "closed");
  assertEquals(clock.pending, 0, "no timer is left");
});

test("an authority may be extended, and is refused once it has ended", async () => {
  const { hub, clock } = bench({ replay: RING });
  const client = new Client(hub, { expiresAt: clock.now() + 30_000 });
  await settle();
  const { connection } = client.hello;
  assert(connection !== undefined);
  clock.advance(1000);
  await settle();
  assertEquals(client.named("sse:expiring").length, 1, "less than a minute is left: told at once");
  assertEquals(hub.extend(connection, clock.now() + 100_000), true);
  clock.advance(39_500);
  await settle();
  assertEquals([client.sink.ended, client.named("sse:expiring").length], [false, 1]);
  assertEquals(hub.extend(connection, Infinity), true);
  clock.advance(1_000_000);
  await settle();
  assertEquals(client.sink.ended, false);
  assertEquals(hub.extend("0".repeat(32), Infinity), false);
  assertThrows(() => hub.extend(connection, NaN), TypeError, "expiresAt");
  assertThrows(() => hub.serve(ask(), { expiresAt: -1 }), TypeError, "expiresAt");
  const late = hub.serve(ask(), { expiresAt: clock.now() });
  assertEquals([late.status, (await late.json()).code], [403, "sse_expired"]);
});

test("a connection's owner is known while it is open, and to nobody else", async () => {
  const { hub } = bench({ replay: RING });
  const mine = new Client(hub, { user: "ada" });
  const nobodys = new Client(hub);
  await settle();
  const id = (client: Client): string => client.hello.connection ?? "";
  assertEquals(hub.ownerOf(id(mine)), "ada");
  assertEquals(hub.ownerOf(id(nobodys)), "");
  assertEquals(hub.ownerOf("0".repeat(32)), null);
  assertEquals(hub.disconnect({ where: ({ user }) => user === "ada" }), 1);
  await settle();
  assertEquals(hub.ownerOf(id(mine)), null);
});
