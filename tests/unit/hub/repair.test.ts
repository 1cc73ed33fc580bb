import { assert, assertEquals } from "@std/assert";
import type { Writer } from "../../../src/hub/types.ts";
import type { Hello } from "../../../src/wire/hello.ts";
import { test } from "../../support/test.ts";
import { bench, Client, gate, settle } from "./harness.ts";

test("a repair stands between snapshot begin and end, after every verdict that lost something", async () => {
  const { hub } = bench({ replay: { maxEvents: 2, ttlMs: 75_000, replyMaxEvents: 1 } });
  const { epoch } = hub.position();
  for (let i = 1; i <= 5; i++) hub.publish({ topic: "a", data: String(i) });
  const calls: (readonly string[])[] = [];
  const options = {
    topics: ["a"],
    async repair(topics: readonly string[], hello: Hello, writer: Writer): Promise<void> {
      calls.push(topics);
      assertEquals(hello.repair, true);
      await writer.event("state", "whole");
    },
    async onConnect(writer: Writer): Promise<void> {
      await writer.event("connected", "c");
    },
  };
  const cursors = ["x", "0000000000000000:0", `${epoch}:9`, `${epoch}:1`, `${epoch}:3`];
  for (const cursor of cursors) {
    const client = new Client(hub, options, { cursor });
    await settle();
    assertEquals(client.hello.repair, true);
    assertEquals(client.story, [
      ...["retry 1500", "sse:hello", "sse:snapshot", "whole", "sse:snapshot", "c", "#5"],
    ]);
    const [begin, end] = client.named("sse:snapshot").map((data) => JSON.parse(data));
    assertEquals([begin.phase, end.phase, "head" in begin], ["begin", "end", false]);
    assert(client.events.every(({ id }) => id === null));
  }
  assertEquals(calls, cursors.map(() => ["a"]));

  for (const cursor of ["", `${epoch}:4`]) {
    const client = new Client(hub, options, { cursor });
    await settle();
    assertEquals([client.hello.repair, client.named("sse:snapshot").length], [undefined, 0]);
  }
  assertEquals(calls.length, cursors.length, "not after fresh, not after resumed");
});

test("what is published during a repair follows its end", async () => {
  const { hub } = bench();
  const { opened, open } = gate();
  const client = new Client(hub, {
    async repair(_topics, _hello, writer) {
      await writer.event("state", "old");
      await opened;
    },
  }, { cursor: "x" });
  await settle();
  hub.publish({ data: "new" });
  await settle();
  assertEquals(client.story.slice(2), ["sse:snapshot", "old"]);
  open();
  await settle();
  assertEquals(client.story.slice(4), ["sse:snapshot", "new", "#1"]);
});

test("a repair that fails ends the connection before its end is told", async () => {
  const { hub, presence } = bench();
  const client = new Client(hub, { repair: () => Promise.reject(new Error("no")) }, {
    cursor: "x",
  });
  await settle();
  assertEquals(client.named("sse:snapshot"), ['{"phase":"begin"}']);
  assertEquals(presence[1]?.cause, "hook_failed");
});
