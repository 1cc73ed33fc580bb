import { assert, assertEquals } from "@std/assert";
import { PresenceTable } from "../../../src/hub/presence_table.ts";
import { topicsSince } from "../../../src/hub/topics.ts";
import { test } from "../../support/test.ts";

const WINDOW = 30_000;

test("a tag is listed with its connections and the topics they listen to", () => {
  const table = new PresenceTable(WINDOW);
  table.connected("tab", "c1", topicsSince(["a", "b"]), 1000);
  table.connected("tab", "c2", topicsSince(["b", "c"]), 2000);
  assertEquals(table.list(2000), [
    { tag: "tab", connections: 2, topics: ["a", "b", "c"], lastAliveAt: 2000, gone: false },
  ]);
  table.connected("tab", "c3", null, 3000);
  assertEquals(table.list(3000)[0]?.topics, [], "one of them receives everything");
  table.disconnected("tab", "c3");
  table.disconnected("tab", "c1");
  assertEquals(table.list(3000)[0]?.topics, ["b", "c"]);
});

test("a connection without a tag is not listed", () => {
  const table = new PresenceTable(WINDOW);
  table.connected("", "c1", null, 0);
  table.disconnected("", "c1");
  assertEquals(table.list(0), []);
});

test("a tag is gone when its last sign of life is older than the window, whatever its sockets say", () => {
  const table = new PresenceTable(WINDOW);
  table.connected("tab", "c1", null, 0);
  assertEquals(table.list(WINDOW)[0]?.gone, false);
  const [late] = table.list(WINDOW + 1);
  assertEquals([late?.gone, late?.connections, late?.lastAliveAt], [true, 1, 0]);
  table.acknowledged("tab", WINDOW + 5);
  assertEquals(table.list(WINDOW + 5)[0]?.gone, false);
  assertEquals(table.transitions, { alive: 2, expired: 1 });
});

test("a tag that only acknowledges, without a connection, is alive for the window", () => {
  const table = new PresenceTable(WINDOW);
  table.acknowledged("tab", 10);
  assertEquals(table.list(10), [
    { tag: "tab", connections: 0, topics: [], lastAliveAt: 10, gone: false },
  ]);
  assertEquals(table.list(10 + WINDOW + 1)[0]?.gone, true);
});

test("each running out is counted once, however often one looks", () => {
  const table = new PresenceTable(WINDOW);
  table.acknowledged("tab", 0);
  for (let i = 0; i < 3; i++) table.list(WINDOW * 2);
  assertEquals(table.transitions, { alive: 1, expired: 1 });
  table.acknowledged("tab", WINDOW * 2);
  // Silent beyond the window without anybody looking, then alive again: both count.
  table.acknowledged("tab", WINDOW * 9);
  assertEquals(table.transitions, { alive: 3, expired: 2 });
});

test("a new window holds from now on", () => {
  const table = new PresenceTable(WINDOW);
  table.acknowledged("tab", 0);
  table.setWindow(100);
  assertEquals(table.list(101)[0]?.gone, true);
});

test("tags that have no connection are listed for a while, and their number is bounded", () => {
  const table = new PresenceTable(WINDOW);
  table.connected("kept", "k", null, 0);
  for (let i = 0; i < 10_000; i++) {
    table.connected(`t${i}`, `c${i}`, null, i);
    table.disconnected(`t${i}`, `c${i}`);
  }
  const tags = table.list(10_000).map(({ tag }) => tag);
  assert(tags.length <= 2 * 1024 + 1, `${tags.length} listed`);
  assert(tags.length > 1024, "the latest ones stay");
  assert(tags.includes("kept"), "one that is connected is never forgotten");
  assert(tags.includes("t9999"));
  assert(!tags.includes("t0"), "the one silent longest went first");
});

test("the tag silent longest stands first, and a sign of life moves a tag to the end", () => {
  const table = new PresenceTable(WINDOW);
  for (const tag of ["a", "b", "c"]) table.acknowledged(tag, 0);
  table.acknowledged("a", 1);
  table.connected("b", "c1", null, 2);
  assertEquals(table.list(2).map(({ tag }) => tag), ["c", "a", "b"]);
  // So the one that keeps acknowledging outlives those that do not.
  for (let i = 0; i < 5000; i++) {
    table.acknowledged(`t${i}`, 3 + i);
    table.acknowledged("a", 3 + i);
  }
  const tags = table.list(6000).map(({ tag }) => tag);
  assertEquals([tags.includes("a"), tags.includes("c"), tags.includes("t0")], [true, false, false]);
});

test("acknowledgements alone cannot grow the list without bound", () => {
  const table = new PresenceTable(WINDOW);
  for (let i = 0; i < 10_000; i++) table.acknowledged(`t${i}`, i);
  assert(table.list(10_000).length <= 2 * 1024);
});

test("leaving twice, or without having come, does no harm", () => {
  const table = new PresenceTable(WINDOW);
  table.disconnected("never", "c");
  table.connected("tab", "c1", null, 0);
  table.disconnected("tab", "c1");
  table.disconnected("tab", "c1");
  assertEquals(table.list(0)[0]?.connections, 0);
  for (let i = 0; i < 5000; i++) table.acknowledged(`t${i}`, i);
  assert(table.list(5000).length <= 2 * 1024);
});
