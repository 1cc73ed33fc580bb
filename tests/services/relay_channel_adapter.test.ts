import { assertEquals } from "@std/assert";
import { createBroadcastChannelRelay } from "../../src/relay/broadcast_channel.ts";
import { eventually } from "../support/poll.ts";
import { runToEnd } from "../support/run.ts";
import { CLIENT_RUNTIMES } from "../support/runtimes.ts";
import { test } from "../support/test.ts";

const PROGRAM = new URL("../support/relay_channel_program.ts", import.meta.url);
const ROOT = new URL("../../", import.meta.url);

test("a channel carries messages between a program and its worker, in their order", async () => {
  const worker = new Worker(PROGRAM, { type: "module" });
  await new Promise((resolve) => worker.onmessage = resolve);
  const relay = createBroadcastChannelRelay("relay-channel-program");
  const heard: number[] = [];
  await relay.listen({
    // Its own come back, too.
    message: ([kind, n]) => kind === 1 && n !== undefined && heard.push(n),
    resumed() {},
  });
  const sent = Array.from({ length: 50 }, (_, n) => n);
  for (const n of sent) relay.send(Uint8Array.of(0, n));
  await eventually(() => heard.length >= sent.length, { what: "all echoes" });
  assertEquals(heard, sent);
  await relay.close();
  worker.terminate();
});

// On Deno it does, and the documentation says so.
for (const { name, argv } of CLIENT_RUNTIMES.filter(({ name }) => name !== "deno")) {
  test(`on ${name}, an open channel does not keep a program from its end`, async () => {
    const [program, ...args] = argv;
    const last = args.length - 1;
    const { code, late, stderr } = await runToEnd(
      program,
      [...args.slice(0, last), PROGRAM.pathname],
      { timeoutMs: 20_000, cwd: ROOT },
    );
    assertEquals({ code, late }, { code: 0, late: false }, stderr);
  });
}
