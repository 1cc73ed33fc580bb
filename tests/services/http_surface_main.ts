/**
 * Everything that answers requests, in one server, on Deno, Bun and Node: a service below `/sse`, the same
 * for pages of another origin below `/cors`, and the hub's own handlers, bare. Its argument is that origin.
 * It prints `LISTEN URL`.
 *
 * @module
 */
import process from "node:process";
import type { FetchHandler, ListenOptions, RunningServer } from "../../src/adapters/server.ts";
import { createHub } from "../../src/hub/hub.ts";
import type { ServiceOptions } from "../../src/service/options.ts";
import { createService } from "../../src/service/service.ts";
import { createMemoryTicketStore, createTickets } from "../../src/tickets/tickets.ts";
import { identify, KEYS } from "../unit/service/world.ts";

type Serve = (handler: FetchHandler, options: ListenOptions) => Promise<RunningServer>;

/** What `GET /state` tells. */
export interface SurfaceState {
  /** How many clients are connected. */
  readonly clients: number;
  /** The last offset. */
  readonly head: number;
  /** What was logged. */
  readonly lines: readonly string[];
  /** The memory of the process, in bytes. */
  readonly rss: number;
}

/** What looks like a ticket. */
const SECRET = "x".repeat(43);

async function adapter(): Promise<Serve> {
  if ("Deno" in globalThis) return (await import("../../src/adapters/deno.ts")).serveDeno;
  if ("Bun" in globalThis) return (await import("../../src/adapters/bun.ts")).serveBun;
  return (await import("../../src/adapters/node.ts")).serveNode;
}

const lines: string[] = [];
const log = (message: string): void => void lines.push(message);
const logger = { debug: log, info: log, warn: log, error: log };
const hub = createHub({ logger, replay: { maxEvents: 1024, ttlMs: 600_000 } });
const options: ServiceOptions = {
  hub,
  logger,
  identify(request) {
    const identity = identify(request);
    if (identity?.user === "boom") {
      throw new Error(`Nobody may see\r\n${SECRET} in ${import.meta.url}`);
    }
    return identity;
  },
  authorize: () => true,
  boundTopics: ({ user }) => [`user:${user}`],
  tickets: createTickets({ store: createMemoryTicketStore(), logger }),
  digest: (held) => held.map((one) => ({ ...one, status: "" })),
  publish: KEYS,
  presence: KEYS,
  metrics: KEYS,
};
const service = createService({ ...options, basePath: "/sse" });
const open = createService({
  ...options,
  basePath: "/cors",
  cors: { origins: [process.argv[2] ?? ""], credentials: true },
});
const digest = hub.digestHandler((held) => held.map((one) => ({ ...one, status: "" })));
const state = (): Response => {
  const { head } = hub.position();
  const { rss } = process.memoryUsage();
  return Response.json({ clients: hub.clientCount, head, lines, rss } satisfies SurfaceState);
};
const bare: Readonly<Record<string, FetchHandler>> = {
  "/bare/events": hub.handler,
  "/bare/alive": hub.aliveHandler,
  "/bare/digest": digest,
  "/state": state,
};
const serve = await adapter();
const server = await serve((request, host) => {
  const { pathname } = new URL(request.url);
  const handler = Object.hasOwn(bare, pathname) ? bare[pathname] : undefined;
  if (handler !== undefined) return handler(request, host);
  return (pathname.startsWith("/cors/") ? open : service).fetch(request, host);
}, { hub, hostname: "127.0.0.1", port: 0, logger });
// Who started this has gone.
process.stdin.once("end", () => process.exit(3)).resume();
console.log(`LISTEN ${server.url}`);
