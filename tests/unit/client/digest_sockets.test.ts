import { assertEquals, assertRejects } from "@std/assert";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createHub } from "../../../mod.ts";
import { toNodeHandler } from "../../../src/adapters/node.ts";
import { createDigestClient } from "../../../src/client/digest.ts";
import { DigestStatusError } from "../../../src/errors.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { EPOCH, many, snapshotOf } from "./digest_server.ts";

/** A server of real sockets, for as long as a test runs. */
async function serving(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  body: (url: string, left: () => number) => Promise<void>,
): Promise<void> {
  let left = 0;
  const server = createServer((request, response) => {
    response.on("close", () => {
      if (!response.writableFinished) left++;
    });
    listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It listens on a port");
  try {
    await body(`http://127.0.0.1:${address.port}/digest`, () => left);
  } finally {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }
}

const snapshot = snapshotOf(many(3), EPOCH);

test("a refusal whose body never ends keeps no socket", async () => {
  await serving((_, response) => {
    response.writeHead(503, { "Content-Type": "text/plain" });
    response.write("wait");
  }, async (url, left) => {
    const client = createDigestClient({ url });
    const error = await assertRejects(() => client.check(snapshot), DigestStatusError);
    assertEquals(error.status, 503);
    await eventually(() => left() === 1, { what: "the server to see the client leave" });
  });
});

test("an answer above the bound keeps no socket", async () => {
  await serving((_, response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.write(" ".repeat(100_000));
  }, async (url, left) => {
    const result = await createDigestClient({ url }).check(snapshot);
    assertEquals(result.mustRefetch, true);
    await eventually(() => left() === 1, { what: "the server to see the client leave" });
  });
});

test("a time that is up, and a signal, close the socket before the head and in the body", async () => {
  const silent = (): void => {};
  const stuck = (_: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.write('{"epoch":');
  };
  for (const listener of [silent, stuck]) {
    let requests = 0;
    const counted: typeof stuck = (request, response) => {
      requests++;
      listener(request, response);
    };
    await serving(counted, async (url, left) => {
      const impatient = createDigestClient({ url, timeoutMs: 100 });
      const late = await assertRejects(() => impatient.check(snapshot), DOMException);
      assertEquals(late.name, "TimeoutError");
      await eventually(() => left() === 1, { what: "the server to see the client leave" });
      const controller = new AbortController();
      const check = createDigestClient({ url }).check(snapshot, controller.signal);
      const ended = assertRejects(() => check, DOMException);
      await eventually(() => requests === 2, { what: "the request to be there" });
      controller.abort();
      assertEquals((await ended).name, "AbortError");
      await eventually(() => left() === 2, { what: "the server to see the client leave again" });
    });
  }
});

test("a hub behind a real socket answers a thousand subjects", async () => {
  const hub = createHub();
  const handler = hub.digestHandler((held) => held.map((one) => ({ ...one, status: "gone" })));
  await serving(toNodeHandler(handler), async (url) => {
    const client = createDigestClient({ url, headers: { "X-Tag": "1" } });
    const result = await client.check(snapshotOf(many(1000), hub.position().epoch));
    assertEquals([result.mustRefetch, result.removed.length], [false, 1000]);
  });
  await hub.shutdown();
});
