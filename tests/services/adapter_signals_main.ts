/**
 * A hub on a port that drains on a signal, on Deno, Bun and Node. The one argument is JSON:
 * `lameDuckMs`, `spreadMs`, `shutdownMs`. It prints `LISTEN URL`, and `STOPPED` from its hook.
 *
 * @module
 */
import process from "node:process";
import type { FetchHandler, ListenOptions, RunningServer } from "../../src/adapters/server.ts";
import { createHub } from "../../src/hub/hub.ts";

type Serve = (handler: FetchHandler, options: ListenOptions) => Promise<RunningServer>;

/** How long the pod lets each part take. */
export interface PodTimes {
  readonly lameDuckMs: number;
  readonly spreadMs: number;
  readonly shutdownMs: number;
}

async function adapter(): Promise<Serve> {
  if ("Deno" in globalThis) return (await import("../../src/adapters/deno.ts")).serveDeno;
  if ("Bun" in globalThis) return (await import("../../src/adapters/bun.ts")).serveBun;
  return (await import("../../src/adapters/node.ts")).serveNode;
}

const { shutdownMs, ...drainOnSignal } = JSON.parse(process.argv[2] ?? "{}") as PodTimes;
// Whoever does not read is waited for: nothing but the bound ends that.
const hub = createHub({ clientBuffer: 100_000, clientBufferBytes: 256 * 1024 * 1024 });

const serve = await adapter();
const server = await serve((request, host) => {
  const { pathname } = new URL(request.url);
  if (pathname === "/events") return hub.serve(request, { host });
  if (pathname === "/ready") {
    return new Response(hub.state, { status: hub.state === "serving" ? 200 : 503 });
  }
  for (let i = 0; i < 500; i++) hub.publish({ data: "x".repeat(65_536) });
  return new Response(null, { status: 204 });
}, {
  hub,
  hostname: "127.0.0.1",
  port: 0,
  shutdownMs,
  drainOnSignal,
  onStopped: () => console.log("STOPPED"),
});
// Who started this has gone.
process.stdin.once("end", () => process.exit(3)).resume();
console.log(`LISTEN ${server.url}`);
