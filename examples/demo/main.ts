/**
 * The demo: this machine's own measurements on a page, over a stream that you can cut, stall and
 * restart while its counters show what became of every event.
 *
 *     deno task demo [--port 8080] [--hostname 127.0.0.1] [--journal sqlite] [--key KEY]
 *
 * `--journal` says where the events are kept: `sqlite`, a temporary file that is removed at exit;
 * `sqlite:PATH`, a file that stays; `memory`; or `none`. With `--key` whoever has the key may publish,
 * and see who is connected and the counters:
 *
 *     curl -H 'Authorization: Bearer KEY' http://127.0.0.1:8080/metrics
 *
 * @module
 */
import { parseArgs } from "node:util";
import { type RunningServer, serveDeno } from "@tidemark/sse/deno";
import { Demo } from "./app.ts";
import { makeStore, type Store } from "./store.ts";

const USAGE = "Usage: deno task demo [--port 8080] [--hostname 127.0.0.1] " +
  "[--journal sqlite|sqlite:PATH|memory|none] [--key KEY]";

const { port, hostname, store, key } = readArgs(Deno.args);
let server: RunningServer | undefined;
let stopping = false;

// However it ends, by an error too: the temporary file goes with the process.
for (const end of ["unload", "error", "unhandledrejection"]) {
  addEventListener(end, () => store.discard());
}
// The last one: the terminal was closed.
const signals: Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
if (Deno.build.os === "windows") signals.splice(1);
for (const signal of signals) Deno.addSignalListener(signal, stop);

await start();

async function start(): Promise<void> {
  let taken: boolean;
  try {
    const demo = await Demo.open(hostname, store, key);
    ({ server, taken } = await listen(demo));
  } catch (error) {
    console.error(`Cannot start: ${error instanceof Error ? error.message : error}`);
    Deno.exit(1);
  }
  console.log(`Tidemark demo: ${server.url}/`);
  if (taken) console.log(`(port ${port} is taken, so this is a free one)`);
  console.log(`Events are kept in: ${store.name}. Open it in two tabs. Ctrl-C stops it.`);
}

/** Says goodbye to every page, then leaves. A second signal does not wait for them. */
async function stop(): Promise<void> {
  if (stopping || server === undefined) Deno.exit(130);
  stopping = true;
  console.log("Saying goodbye to every page …");
  await server.shutdown();
  console.log("Bye.");
  Deno.exit(0);
}

/** Listens on the port, or on any free one when it is taken. */
async function listen(demo: Demo): Promise<{ server: RunningServer; taken: boolean }> {
  const open = (port: number) =>
    serveDeno((request, host) => demo.fetch(request, host), {
      hub: demo,
      hostname,
      port,
      shutdownMs: 4000,
    });
  try {
    return { server: await open(port), taken: false };
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    return { server: await open(0), taken: true };
  }
}

interface Args {
  readonly port: number;
  readonly hostname: string;
  readonly store: Store;
  readonly key: string | undefined;
}

function readArgs(args: string[]): Args {
  try {
    const { values } = parseArgs({
      args,
      options: {
        port: { type: "string", default: "8080" },
        hostname: { type: "string", default: "127.0.0.1" },
        journal: { type: "string", default: "sqlite" },
        key: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
    const port = Number(values.port);
    if (!/^\d{1,5}$/.test(values.port) || port > 65535) {
      throw new TypeError(`--port is ${values.port}, it must be 0 to 65535`);
    }
    const store = makeStore(values.journal);
    if (!values.help) return { port, hostname: values.hostname, store, key: values.key };
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    console.error(USAGE);
    Deno.exit(2);
  }
  console.log(USAGE);
  Deno.exit(0);
}
