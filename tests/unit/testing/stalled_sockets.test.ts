import { assertEquals } from "@std/assert";
import type { Runtime } from "../../support/runtimes.ts";
import { RUNTIMES } from "../../support/runtimes.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";

// The fixture is started from Deno alone; the kernel's table of sockets is Linux's.
if ("Deno" in globalThis && Deno.build.os === "linux") {
  const { withFixture } = await import("../../support/fixture.ts");

  const WATCH_MS = 4000;
  const PIECE = 262_144;

  /** Whether the server's end of a connection is established. */
  const established = async (serverPort: number, clientPort: number): Promise<boolean> => {
    const hex = (port: number): string => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
    const lines = (await Deno.readTextFile("/proc/net/tcp")).split("\n");
    const [, , , state] = lines.map((line) =>
      line.trim().split(/\s+/)
    ).find(([, local, remote]) =>
      local?.endsWith(hex(serverPort)) && remote?.endsWith(hex(clientPort))
    ) ?? [];
    return state === "01";
  };

  /** A peer that never reads, until the hub has dropped it. */
  const watch = (runtime: Runtime): Promise<{ taken: number; closed: boolean }> => {
    const flags = { keepaliveMs: 400, writeTimeoutMs: 1500, clientBufferBytes: 64 * 1_048_576 };
    return withFixture(runtime, flags, async (fixture) => {
      const { hostname, port } = new URL(fixture.url);
      const peer = await Deno.connect({ hostname, port: Number(port) });
      try {
        await peer.write(new TextEncoder().encode("GET /events HTTP/1.1\r\nHost: x\r\n\r\n"));
        await eventually(async () => (await fixture.state()).clients === 1, { what: "the peer" });
        let taken = 0;
        await eventually(async () => {
          await fixture.publish({ size: PIECE });
          const waiting = (await fixture.state()).queued;
          if (waiting === 0) taken += PIECE;
          // The second to wait: the first may only have been on its way.
          return waiting >= 2;
        }, { what: "a full socket" });
        const events = await eventually(async () => {
          const { clients, events } = await fixture.state();
          return clients === 0 ? events : null;
        }, { what: "the departure" });
        assertEquals(events.at(-1)?.cause, "dead");
        const local = peer.localAddr;
        if (local.transport !== "tcp") throw new Error("It is a TCP socket");
        const deadline = performance.now() + WATCH_MS;
        let closed = false;
        while (!closed && performance.now() < deadline) {
          closed = !await established(Number(port), local.port);
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        return { taken, closed };
      } finally {
        peer.close();
      }
    });
  };

  test("each host takes no more for a stopped peer, and closes its socket or not, as the table says", async () => {
    const seen = await Promise.all(RUNTIMES.map(async (runtime) => {
      const { taken, closed } = await watch(runtime);
      return [runtime.name, closed, taken <= runtime.can.hostBufferBytes];
    }));
    const table = RUNTIMES.map(({ name, can }) => [name, can.socketDestroyedOnStall, true]);
    assertEquals(seen, table);
  });
}
