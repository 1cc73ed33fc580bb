import { assert, assertEquals, assertRejects } from "@std/assert";
import { ConnectionGoneError, FrameTooLargeError, InvalidUtf8Error } from "../../../src/errors.ts";
import type { Writer } from "../../../src/hub/types.ts";
import type { Hello } from "../../../src/wire/hello.ts";
import { MAX_FRAME_BYTES } from "../../../src/wire/timing.ts";
import { test } from "../../support/test.ts";
import { bench, Client, gate, RING, settle } from "./harness.ts";

test("the hook's frames come after hello and replay and before an id alone, without ids", async () => {
  const { hub } = bench({ replay: RING });
  const { epoch } = hub.position();
  for (const data of ["1", "2"]) hub.publish({ data });
  let told: Hello | undefined;
  const client = new Client(hub, {
    async onConnect(writer, hello) {
      told = hello;
      await writer.event("state", "a");
      await writer.event("", "b");
    },
  }, { cursor: `${epoch}:1` });
  await settle();
  assertEquals(client.story, ["retry 1500", "sse:hello", "2", "a", "b", "#2"]);
  assertEquals(client.events.map(({ id }) => id), [`${epoch}:2`, null, null]);
  // The hook's hello also holds fields that were left out of the wire's.
  assertEquals(told?.verdict, "resumed");
  assertEquals([told?.head, told?.connection], [client.hello.head, client.hello.connection]);
});

test("the hook runs only when hello and replay were handed over", async () => {
  const { hub } = bench({ replay: RING });
  hub.publish({ data: "1" });
  let ran = false;
  const onConnect = (): void => void (ran = true);
  const client = new Client(hub, { onConnect }, {}, false);
  await settle();
  assertEquals(ran, false);
  client.sink.acceptOne();
  assertEquals(ran, true);
});

test("what is published while the hook writes waits, and comes after its frames", async () => {
  const { hub } = bench();
  const { opened, open } = gate();
  const client = new Client(hub, {
    async onConnect(writer) {
      await writer.event("state", "first");
      await opened;
      await writer.event("state", "second");
    },
  });
  await settle();
  hub.publish({ data: "live 1" });
  hub.publish({ data: "live 2" });
  await settle();
  assertEquals(client.story, ["retry 1500", "sse:hello", "first"]);
  assertEquals(hub.queuedFrames, 2);
  open();
  await settle();
  assertEquals(client.story.slice(2), ["first", "second", "live 1", "live 2", "#2"]);
});

test("an id alone never stands before a frame of the hook or one that waited for it", async () => {
  const { hub, clock } = bench();
  const { opened, open } = gate();
  const client = new Client(hub, { onConnect: () => opened });
  await settle();
  hub.publish({ data: "waits" });
  clock.advance(45_000);
  await settle();
  assertEquals(client.story, [
    ...["retry 1500", "sse:hello", "sse:keepalive", "sse:keepalive", "sse:keepalive"],
  ]);
  open();
  await settle();
  assertEquals(client.story.slice(5), ["waits", "#1"]);
});

test("an event's promise settles when the runtime has taken it", async () => {
  const { hub } = bench();
  const steps: string[] = [];
  const client = new Client(
    hub,
    {
      async onConnect(writer) {
        await writer.event("", "a");
        steps.push("a taken");
        await writer.event("", "b");
        steps.push("b taken");
      },
    },
    {},
    false,
  );
  client.sink.acceptOne();
  await settle();
  assertEquals(steps, []);
  client.sink.acceptOne();
  await settle();
  assertEquals(steps, ["a taken"]);
  client.sink.acceptOne();
  await settle();
  assertEquals(steps, ["a taken", "b taken"]);
});

test("a hook may publish, to its own connection too, and ask for the position", async () => {
  const { hub } = bench({ replay: RING });
  const other = new Client(hub);
  const client = new Client(hub, {
    async onConnect(writer) {
      const offset = hub.publish({ name: "joined", data: "me" });
      assertEquals([offset, hub.position().head], [1, 1]);
      await writer.event("state", "s");
    },
  });
  await settle();
  assertEquals(client.story, ["retry 1500", "sse:hello", "s", "me", "#1"]);
  assertEquals(other.data, ["me"]);
});

test("a hook that throws, at once or later, ends its connection with hook_failed", async () => {
  const { hub, presence, logger } = bench();
  const { opened, break: fail } = gate();
  const hooks = [
    (): never => {
      throw new Error("at once");
    },
    (): Promise<void> => opened,
  ];
  const clients = hooks.map((onConnect) => new Client(hub, { onConnect }));
  await settle();
  fail(new Error("later"));
  await settle();
  assertEquals(hub.clientCount, 0);
  assert(clients.every(({ sink }) => sink.ended || sink.destroyed));
  const causes = presence.filter(({ kind }) => kind === "disconnected").map(({ cause }) => cause);
  assertEquals(causes, ["hook_failed", "hook_failed"]);
  assertEquals(logger.lines.filter((line) => line.startsWith("error:")).length, 2);
  assertEquals(hub.metrics().departures.hook_failed, 2);
});

test("the writer makes publish's checks, the size without an id line, and harms nothing", async () => {
  const { hub } = bench();
  let checked = false;
  const client = new Client(hub, {
    async onConnect(writer) {
      await assertRejects(() => writer.event("sse:x", ""), TypeError);
      await assertRejects(() => writer.event("a\nb", ""), TypeError);
      await assertRejects(() => writer.event("sse:keepalive", ""), TypeError);
      await assertRejects(() => writer.event("", "\ud800"), InvalidUtf8Error);
      const most = MAX_FRAME_BYTES - "data: \n\n".length;
      await assertRejects(() => writer.event("", "x".repeat(most + 1)), FrameTooLargeError);
      await writer.event("", "x".repeat(most));
      checked = true;
    },
  });
  await settle();
  assert(checked);
  assertEquals(client.data.map((data) => data.length), [MAX_FRAME_BYTES - 8]);
  assertEquals(client.sink.chunks.every((chunk) => chunk.length <= 65_536), true);
});

test("when the peer stops reading, the hook's write is refused as dead, and presence says so", async () => {
  const { hub, clock, presence } = bench();
  let gone: unknown;
  const client = new Client(
    hub,
    {
      async onConnect(writer) {
        client.sink.refuse();
        await writer.event("", "taken, and answered with no");
        await writer.event("", "never taken").catch((error) => gone = error);
      },
    },
    {},
    false,
  );
  client.sink.accept();
  await settle();
  clock.advance(31_000);
  await settle();
  assert(gone instanceof ConnectionGoneError && gone.cause === "dead");
  assertEquals(presence.map(({ kind, cause, write }) => [kind, cause, write]), [
    ["connected", undefined, undefined],
    ["disconnected", "dead", "hook"],
  ]);
});

test("a writer kept beyond its hook still writes, and refuses once the connection is gone", async () => {
  const { hub } = bench();
  let kept: Writer | undefined;
  const client = new Client(hub, { onConnect: (writer) => void (kept = writer) });
  await settle();
  const writer = kept;
  assert(writer !== undefined);
  await writer.event("", "later");
  assertEquals(client.data, ["later"]);
  client.sink.leave();
  const error = await assertRejects(() => writer.event("", "too late"), ConnectionGoneError);
  assertEquals(error.cause, "closed");
});

test("a write that nobody awaits does not end the process when the peer is gone", async () => {
  const { hub } = bench();
  const { opened, open } = gate();
  const client = new Client(hub, {
    async onConnect(writer) {
      await opened;
      writer.event("", "a");
      writer.event("", "b");
    },
  });
  client.sink.leave();
  open();
  await settle();
  assertEquals(client.data, []);
});

test("a connection that is evicted while its hook writes was evicted, whatever the hook makes of it", async () => {
  const { hub, presence, clock } = bench({ clientBuffer: 2 });
  const client = new Client(
    hub,
    {
      async onConnect(writer) {
        client.sink.refuse();
        await writer.event("", "taken");
        await writer.event("", "never taken");
      },
    },
    {},
    false,
  );
  client.sink.accept();
  await settle();
  for (let i = 0; i < 10; i++) {
    hub.publish({ data: String(i) });
    // The hook's write is refused at once, long before the farewell's 250 ms are over.
    clock.advance(100);
    await settle();
  }
  clock.advance(1000);
  await settle();
  assertEquals(presence.map(({ kind, cause }) => [kind, cause]), [
    ["connected", undefined],
    ["disconnected", "evicted"],
  ]);
});
