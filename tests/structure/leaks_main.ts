/**
 * Reconnects a stream over real sockets a thousand times, with the server in the same process, and
 * tells on one line of JSON by how many bytes per connection the heap has grown in each part. Runs on
 * Deno, Bun and Node, each with its collector in reach.
 *
 * @module
 */
import process from "node:process";
import type { Asked, Script } from "../support/scripted_server.ts";
import { HALF_CLOSE, ScriptedServer, STREAM } from "../support/scripted_server.ts";
import { frame, greeting } from "../unit/client/edges.ts";
import { createStream } from "../../src/client/stream.ts";
import { createVersionMap } from "../../src/client/versions.ts";
import { keepaliveFrame } from "../../src/wire/control.ts";

/** What a runtime calls its collector. */
interface Collector {
  readonly gc?: () => void;
  readonly Bun?: { gc(force: boolean): void };
}

/** How many connections there are at first, which fill caches and compile code, and in each part. */
const WARM_UP = 200;
const PART = 200;
const PARTS = 4;

async function heap(): Promise<number> {
  const { gc, Bun } = globalThis as Collector;
  if (gc === undefined && Bun === undefined) throw new Error("The collector is out of reach");
  // What is let go in one pass may let go of more.
  for (let pass = 0; pass < 4; pass++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (Bun === undefined) gc?.();
    else Bun.gc(true);
  }
  return process.memoryUsage().heapUsed;
}

function answer({ number }: Asked): Script {
  const verdict = number % 10 === 1 ? "gap_floor" : "resumed";
  const beat = keepaliveFrame("sse:keepalive");
  return [STREAM, greeting({ verdict, head: number - 1 }), frame(number, "x"), beat, HALF_CLOSE];
}

const server = new ScriptedServer(answer);
await server.listen();
let connections = 0;
let reach = (): void => {};
let goal = 0;
const stream = createStream({
  url: ({ attempt }) => Promise.resolve(`${server.origin}/?attempt=${attempt}`),
  headers: () => Promise.resolve({ "X-Tag": "1" }),
  versions: createVersionMap(),
  persist: { load: () => null, save: () => Promise.resolve() },
  revalidate: () => Promise.resolve(),
  onFrame: () => {},
  onLifecycle({ kind }) {
    if (kind === "hello" && ++connections === goal) reach();
  },
  // It need not have been open for any time: what ends comes back at once.
  timing: { stableMs: 0 },
});

/** Waits for a connection, and forgets what the server kept of those before. */
async function until(count: number): Promise<void> {
  goal = count;
  await new Promise<void>((resolve) => reach = resolve);
  server.asked.length = 0;
}

const warm = until(WARM_UP);
stream.start();
await warm;
const sizes = [await heap()];
for (let part = 0; part < PARTS; part++) {
  await until(connections + PART);
  sizes.push(await heap());
}
stream.stop();
await server.empty();
await server.close();
const growth = sizes.slice(1).map((size, i) => Math.round((size - (sizes[i] ?? 0)) / PART));
console.log(JSON.stringify({ connections, growth }));
