/**
 * SIGTERM under connected clients, on each runtime: who is told what, what a client finds that comes
 * back at once, and when the process is gone.
 *
 * @module
 */
import { assert, assertEquals, assertGreaterOrEqual, assertLess } from "@std/assert";
import { RUNTIMES } from "../support/runtimes.ts";
import { test } from "../support/test.ts";
import { eventually } from "../support/poll.ts";
import { startBalancingNginx } from "./adapter_signals_nginx.ts";
import { NGINX } from "./nginx_server.ts";
import { Pod, SocketClient } from "./adapter_signals_pods.ts";

const CLIENTS = 12;
const DRAIN = { lameDuckMs: 500, spreadMs: 300, shutdownMs: 3000 };
const BRISK = { lameDuckMs: 0, spreadMs: 100, shutdownMs: 600 };
const DEPLOY = { lameDuckMs: 0, spreadMs: 300, shutdownMs: 3000 };
const LAZY = { lameDuckMs: 60_000, spreadMs: 0, shutdownMs: 3000 };
/** What a busy machine may add. */
const SLACK_MS = 1500;
/** The last chunks of a stream: the wait, the goodbye, and its end. */
const GOODBYE =
  /retry: 1000\n\n[^]*event: sse:reset\ndata: \{"reason":"shutdown"\}\n\n\r\n0\r\n\r\n$/;

const runtimes = RUNTIMES.filter(({ name }) => ["deno", "bun", "node-direct"].includes(name));

for (const { name, command } of runtimes) {
  test(`${name}: SIGTERM fails the readiness, tells every client, and exits with 0; who comes back at once finds the port closed, and a sibling`, async () => {
    await using pod = new Pod(command, DRAIN);
    await using sibling = new Pod(command, BRISK);
    await Promise.all([pod.listening(), sibling.listening()]);
    assertEquals((await pod.get("/ready")).status, 200);
    const clients = Array.from({ length: CLIENTS }, () => new SocketClient(pod.port, true));
    await Promise.all(clients.map((client) => client.hello()));

    const end = pod.ends("SIGTERM");
    await eventually(async () => (await pod.get("/ready")).text === "lame_duck", {
      what: "the lame duck",
    });
    clients.push(await new SocketClient(pod.port, true).hello());

    const returned = await Promise.all(clients.map(async (client) => {
      await client.closed;
      const again = new SocketClient(pod.port);
      await again.closed;
      assert(again.refused, `It was answered: ${again.text}`);
      return await new SocketClient(sibling.port).hello();
    }));
    for (const { text } of clients) {
      assert(GOODBYE.test(text), JSON.stringify(text));
      assertEquals(text.match(/^HTTP.*$/gm), ["HTTP/1.1 200 OK"]);
    }
    const { code, afterMs } = await end;
    assertEquals(code, 0, pod.output);
    assert(pod.output.includes("STOPPED"), pod.output);
    assertGreaterOrEqual(afterMs, DRAIN.lameDuckMs);
    assertLess(afterMs, DRAIN.lameDuckMs + DRAIN.spreadMs + SLACK_MS);
    for (const client of returned) client.close();
  });

  test(`${name}: a client that stopped reading holds the process for no longer than the bound`, async () => {
    await using pod = new Pod(command, BRISK);
    await pod.listening();
    const stalled = await new SocketClient(pod.port).hello();
    stalled.pause();
    assertEquals((await pod.get("/flood")).status, 204);
    const reader = await new SocketClient(pod.port).hello();
    const { code, afterMs } = await pod.ends("SIGTERM");
    assertEquals(code, 0, pod.output);
    assert(pod.output.includes("STOPPED"), pod.output);
    assertGreaterOrEqual(afterMs, BRISK.shutdownMs);
    assertLess(afterMs, BRISK.spreadMs + BRISK.shutdownMs + SLACK_MS);
    await reader.closed;
    assert(GOODBYE.test(reader.text), JSON.stringify(reader.text));
    stalled.close();
  });

  test(`${name}: a second SIGTERM exits at once with 143`, async () => {
    await using pod = new Pod(command, LAZY);
    await pod.listening();
    const client = await new SocketClient(pod.port).hello();
    pod.signal("SIGTERM");
    await eventually(async () => (await pod.get("/ready")).text === "lame_duck", {
      what: "the lame duck",
    });
    const { code, afterMs } = await pod.ends("SIGTERM");
    assertEquals(code, 143, pod.output);
    assert(!pod.output.includes("STOPPED"), pod.output);
    assertLess(afterMs, SLACK_MS);
    client.close();
  });

  test(
    `${name}: behind nginx a deploy shows nobody an error, though every client comes back at once`,
    async () => {
      await using pod = new Pod(command, DEPLOY);
      await using sibling = new Pod(command, BRISK);
      await Promise.all([pod.listening(), sibling.listening()]);
      await using nginx = await startBalancingNginx([pod.port, sibling.port]);
      const url = `http://127.0.0.1:${nginx.port}`;
      const clients = Array.from({ length: CLIENTS }, () => new SocketClient(nginx.port));
      await Promise.all(clients.map((client) => client.hello()));
      const answers: string[] = [];
      const ask = async (): Promise<string> => await (await fetch(`${url}/ready`)).text();
      let over = false;
      using _ends = { [Symbol.dispose]: () => void (over = true) };
      const asking = Array.from({ length: 3 }, async () => {
        while (!over) answers.push(await ask().catch(String));
      });
      await eventually(() => answers.length > 20, { what: "some requests" });

      const end = pod.ends("SIGTERM");
      // nginx lets the two take turns: half of the clients are with each.
      const away = await eventually(() => {
        const away = clients.filter(({ text }) => GOODBYE.test(text));
        return away.length === CLIENTS / 2 ? away : undefined;
      }, { what: "the goodbyes" });
      const again = await Promise.all(away.map(() => new SocketClient(nginx.port).hello()));
      assertEquals((await end).code, 0, pod.output);
      over = true;
      await Promise.all(asking);
      assertEquals(answers.filter((answer) => answer !== "serving"), []);
      for (const client of [...clients, ...again]) client.close();
    },
    { needs: [NGINX] },
  );
}
