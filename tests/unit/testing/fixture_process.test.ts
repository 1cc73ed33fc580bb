import { assertEquals, assertMatch } from "@std/assert";
import { FrameReader } from "../../../src/testing/mod.ts";
import type { RunningFixture } from "../../support/fixture.ts";
import { eventually } from "../../support/poll.ts";
import { BARE_RUNTIMES, chooseRuntimes, RUNTIMES } from "../../support/runtimes.ts";
import { test } from "../../support/test.ts";

// The fixture is started from Deno alone, on each runtime in turn.
if ("Deno" in globalThis) {
  const { startBare, startFixture, withFixture } = await import("../../support/fixture.ts");

  const open = async (fixture: RunningFixture, query = ""): Promise<FrameReader> =>
    new FrameReader((await fetch(`${fixture.url}/events${query}`)).body);

  for (const runtime of RUNTIMES) {
    test(`on ${runtime.name} the fixture's faults reach a client over its socket`, async () => {
      await withFixture(runtime, {}, async (fixture) => {
        await fixture.control("stall", { on: true, pass_writes: 4 });
        const stalled = await open(fixture);
        await stalled.read(3);
        await fixture.publish({ data: "passes" });
        await fixture.publish({ data: "lost" });
        assertEquals((await stalled.read(1))[0]?.data, "passes");
        await eventually(async () => (await fixture.state()).queued === 0, { what: "no queue" });
        await fixture.control("stall", {});
        await fixture.publish({ data: "after" });
        assertEquals((await stalled.read(1))[0]?.data, "after");

        await fixture.control("close-after", { frames: 5 });
        const cut = await open(fixture);
        await cut.read(3);
        await fixture.publish({ count: 5, data: "two of these" });
        assertEquals((await cut.read(2)).length, 2);
        const broken = await cut.read(1).catch((error: unknown) => String(error));
        assertMatch(String(broken), /0 had arrived/);
        await fixture.control("close-after", {});

        await fixture.control("delay-hello", { ms: 100 });
        const opened = performance.now();
        const delayed = await open(fixture);
        assertEquals((await delayed.read(1))[0]?.event, "retry");
        const headAfter = performance.now() - opened;
        await delayed.read(1);
        assertEquals(performance.now() - opened >= 95, true);
        assertEquals(headAfter < 90, true, `the head came after ${headAfter} ms`);
        await fixture.control("delay-hello", {});

        const sized = await open(fixture);
        await sized.read(3);
        await fixture.publish({ size: 1_048_576, name: "big" });
        assertEquals((await sized.read(1))[0]?.event, "big");
        await Promise.all([stalled, cut, delayed, sized].map((reader) => reader.cancel()));
      });
    });

    test(`on ${runtime.name} the fixture stops within 5 s, whatever is connected`, async () => {
      const fixture = await startFixture(runtime, { clientBufferBytes: 64 * 1_048_576 });
      const { hostname, port } = new URL(fixture.url);
      // One that never reads, with more waiting than any buffer on the way takes.
      const deaf = await Deno.connect({ hostname, port: Number(port) });
      await deaf.write(new TextEncoder().encode("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
      await fixture.control("hook-sleep", { ms: 60_000 });
      const inHook = await open(fixture, "?topic=mine");
      await inHook.read(2);
      await eventually(async () => (await fixture.state()).clients === 2, { what: "both clients" });
      // Its own bound must not end it before we do: so more than the host takes, and less than that.
      await eventually(async () => {
        await fixture.publish({ size: 1_000_000, topic: "other" });
        return (await fixture.state()).queued > 2;
      }, { what: "frames that nobody takes" });
      assertEquals((await fixture.state()).clients, 2);
      const stopped = await fixture.stop();
      deaf.close();
      await inHook.cancel();
      assertEquals([stopped.code, stopped.killed], [0, false], fixture.log());
      assertEquals(stopped.afterMs < 5000, true, `it took ${stopped.afterMs} ms`);
    });
  }

  for (const runtime of BARE_RUNTIMES) {
    test(`${runtime.name} serves a hub at default options, and publishes its input`, async () => {
      const server = await startBare(runtime);
      try {
        const reader = new FrameReader((await fetch(server.url)).body);
        assertEquals((await reader.read(2)).map((frame) => frame.event), ["retry", "sse:hello"]);
        await server.line("hello");
        assertEquals((await reader.read(1))[0]?.data, "hello");
        await reader.cancel();
      } finally {
        await server.stop();
      }
    });
  }

  test("a fixture that cannot start says why", async () => {
    const [runtime] = chooseRuntimes("deno");
    if (runtime === undefined) throw new Error("deno is in the table");
    const failure = await startFixture(runtime, { keepaliveMs: 0 }).catch(String);
    assertMatch(String(failure), /code 2 before it listened[^]*keepaliveMs/);
  });
}

test("a run on a runtime that is not in the table is refused, not empty", () => {
  assertEquals(chooseRuntimes(""), RUNTIMES);
  assertEquals(chooseRuntimes("bun,deno").map((runtime) => runtime.name), ["deno", "bun"]);
  let message = "";
  try {
    chooseRuntimes("deno,netscape");
  } catch (error) {
    message = String(error);
  }
  assertMatch(message, /netscape/);
});
