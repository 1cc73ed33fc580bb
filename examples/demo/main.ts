/**
 * The demo: this machine's own measurements on a page, over a stream that you can cut, stall and
 * restart while its counters show what became of every event.
 *
 *     deno task demo [--port 8080] [--hostname 127.0.0.1]
 *
 * @module
 */
import { parseArgs } from "node:util";
import { type RunningServer, serveDeno } from "@tidemark/sse/deno";
import { Demo } from "./app.ts";

const USAGE = "Usage: deno task demo [--port 8080] [--hostname 127.0.0.1]";

const { port, hostname } = readArgs(Deno.args);
const demo = new Demo(hostname);
const { server, taken } = await listen(port);

console.log(`Tidemark demo: ${server.url}/`);
if (taken) console.log(`(port ${port} is taken, so this is a free one)`);
console.log("Open it in two tabs. Ctrl-C stops it.");

let stopping = false;
const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
for (const signal of signals) Deno.addSignalListener(signal, stop);

/** Says goodbye to every page, then leaves. A second signal does not wait for them. */
async function stop(): Promise<void> {
  if (stopping) Deno.exit(130);
  stopping = true;
  console.log("Saying goodbye to every page …");
  await server.shutdown();
  console.log("Bye.");
  Deno.exit(0);
}

/** Listens on the port, or on any free one when it is taken. */
async function listen(port: number): Promise<{ server: RunningServer; taken: boolean }> {
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

function readArgs(args: string[]): { port: number; hostname: string } {
  try {
    const { values } = parseArgs({
      args,
      options: {
        port: { type: "string", default: "8080" },
        hostname: { type: "string", default: "127.0.0.1" },
        help: { type: "boolean", default: false },
      },
    });
    const port = Number(values.port);
    if (!/^\d{1,5}$/.test(values.port) || port > 65535) {
      throw new TypeError(`--port is ${values.port}, it must be 0 to 65535`);
    }
    if (!values.help) return { port, hostname: values.hostname };
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    console.error(USAGE);
    Deno.exit(2);
  }
  console.log(USAGE);
  Deno.exit(0);
}
