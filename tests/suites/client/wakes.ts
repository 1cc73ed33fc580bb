/**
 * Wakes: pages that are hidden and shown, networks that go and come, and attempts that run out.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { causes, give } from "./connect.ts";
import type { Scenarios } from "./pair.ts";

/** Scenarios at any settings. */
export const wakes: Scenarios = {
  "without a network it lets go of its connection, and with one it comes back at once": async (
    pair,
  ) => {
    const stream = await pair.open({ headers: { "SSE-Client": pair.server.tag() } });
    const seen = await give(pair, stream, 2);
    assertEquals((await stream.order({ do: "network", on: false })).state, "offline");
    const missed = await pair.publish({ data: "missed", count: 3 });
    assertEquals((await stream.order({ do: "page", signal: "visible" })).state, "offline");
    assertEquals((await stream.order({ do: "network", on: true })).state, "connecting");
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await stream.until("the run", () => stream.records("revalidated")[1]);
    // A wake while offline and one by the network: one run, for the later one.
    assertEquals(causes(stream).slice(1), [{ cause: "online", full: true }]);
    await pair.expectExactly(stream, [...seen, ...missed]);
  },

  "hidden for long it closes, and shown again it resumes and revalidates before it hands out":
    async (pair) => {
      const stream = await pair.open({ timing: { hiddenCloseAfterMs: 300 } });
      const seen = await give(pair, stream, 2);
      assertEquals((await stream.order({ do: "page", signal: "hidden" })).state, "open");
      await stream.next("hidden_closed");
      const missed = await pair.publish({ data: "missed", count: 3 });
      await stream.order({ do: "plan", plans: ["hold"] });
      assertEquals((await stream.order({ do: "page", signal: "visible" })).state, "connecting");
      assertEquals((await stream.next("reopened")).cause, "visible");
      assertEquals((await stream.next("hello")).verdict, "resumed");
      await stream.until("the run", () => stream.told("revalidate")[1]);
      assertEquals(stream.offsets, seen);
      await stream.order({ do: "release" });
      await pair.expectExactly(stream, [...seen, ...missed]);
      assertEquals(causes(stream).slice(1), [{ cause: "visible", full: true }]);
    },

  "hidden for a moment it stays open, and shown again it revalidates": async (pair) => {
    const stream = await pair.open({ timing: { wakeThrottleMs: 0 } });
    const seen = await give(pair, stream, 1);
    await stream.order({ do: "page", signal: "hidden" });
    const hidden = await give(pair, stream, 1);
    await stream.order({ do: "page", signal: "visible" });
    await stream.until("the run", () => stream.told("revalidated")[1]);
    assertEquals(causes(stream).slice(1), [{ cause: "visible", full: true }]);
    await pair.expectExactly(stream, [...seen, ...hidden]);
    assertEquals(stream.records("hello").length, 1);
  },

  "a page that is left closes at once, and one that comes back resumes": async (pair) => {
    const stream = await pair.open();
    const seen = await give(pair, stream, 2);
    assertEquals((await stream.order({ do: "page", signal: "pagehide" })).state, "hidden_closed");
    assertEquals((await stream.next("hidden_closed")).arm, "pagehide");
    const missed = await pair.publish({ data: "missed", count: 3 });
    await stream.order({ do: "page", signal: "pageshow" });
    assertEquals((await stream.next("reopened")).cause, "pageshow");
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await stream.until("the run", () => stream.records("revalidated")[1]);
    assertEquals(causes(stream).slice(1), [{ cause: "pageshow", full: true }]);
    await pair.expectExactly(stream, [...seen, ...missed]);
  },

  "wakes within a second of a run join it": async (pair) => {
    const stream = await pair.open({ timing: { wakeThrottleMs: 60_000 } });
    await stream.order({ do: "page", signal: "visible" });
    await stream.order({ do: "page", signal: "pageshow" });
    await stream.order({ do: "network", on: true });
    await pair.expectExactly(stream, []);
    assertEquals(causes(stream).map(({ cause }) => cause), ["hello"]);
  },

  "spent attempts leave it exhausted, until somebody looks": async (pair) => {
    const stream = await pair.open({ maxAttempts: 3 });
    const seen = await give(pair, stream, 2);
    pair.proxy.refuse(true);
    pair.proxy.cut();
    await stream.becomes("exhausted");
    assertEquals(stream.records("connect_failed").map(({ attempt }) => attempt), [1, 2, 3]);
    pair.proxy.refuse(false);
    const missed = await pair.publish({ data: "missed", count: 3 });
    assertEquals((await stream.order({ do: "page", signal: "visible" })).state, "connecting");
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await pair.expectExactly(stream, [...seen, ...missed]);
  },

  "renewed credentials and reconnect cut a wait short": async (pair) => {
    const stream = await pair.open({ timing: { baseMs: 600_000, capMs: 600_000 } });
    const seen = await give(pair, stream, 2);
    pair.proxy.refuse(true);
    pair.proxy.cut();
    await stream.becomes("backoff");
    await stream.order({ do: "credentialsChanged" });
    await stream.becomes("backoff");
    pair.proxy.refuse(false);
    assertEquals((await stream.order({ do: "reconnect" })).state, "connecting");
    assertEquals((await stream.next("hello")).verdict, "resumed");
    await pair.expectExactly(stream, seen);
  },
};
