/**
 * How much memory does an idle connection hold? Real connections, the resident set of the process.
 *
 * @module
 */
import { type Child, numberIn } from "../lib/child.ts";
import type { Options } from "../lib/options.ts";
import { format, type Report, whole } from "../lib/report.ts";
import { type ContenderName, CONTENDERS } from "./contenders.ts";
import { closeStreams, openStreams, sleep } from "./round.ts";
import { startClient, startServer } from "./servers.ts";

const MEASURED: readonly ContenderName[] = [
  "raw-node",
  "ours-node",
  "ours-node-web",
  "ours-deno",
  "ours-bun",
  "better-sse",
];
/** Opened and closed first: the first connections pay for code, not for themselves. */
const FIRST = 100;
/** How long a runtime has to give memory back after it was told to collect. */
const SETTLE_MS = 500;
const QUICK_SETTLE_MS = 50;

/**
 * Runs the benchmark.
 *
 * @param options What the command line asked for.
 * @param log Where to tell how far it is.
 * @returns The report.
 */
export async function runIdle(options: Options, log: (line: string) => void): Promise<Report> {
  const [few, many] = options.quick ? [100, 400] : [1_000, 5_000];
  const settleMs = options.quick ? QUICK_SETTLE_MS : SETTLE_MS;
  const rows: string[][] = [];
  const client = await startClient();
  try {
    for (const contender of CONTENDERS.filter(({ name }) => MEASURED.includes(name))) {
      const server = await startServer(contender, { gc: true });
      try {
        await openStreams(server, client, FIRST);
        await closeStreams(server, client);
        const none = await restingBytes(server, settleMs);
        await openStreams(server, client, few);
        const atFew = await restingBytes(server, settleMs);
        await openStreams(server, client, many - few, many);
        const atMany = await restingBytes(server, settleMs);
        await closeStreams(server, client);
        rows.push([
          contender.what,
          format(none / 1_048_576),
          format((atFew - none) / few / 1024),
          format((atMany - none) / many / 1024),
        ]);
      } finally {
        await server.stop();
      }
      log(`idle: ${contender.name}`);
    }
  } finally {
    await client.stop();
  }
  return {
    title: "Memory per idle connection",
    columns: [
      "server",
      "MB with none",
      `KB each of ${whole(few)}`,
      `KB each of ${whole(many)}`,
    ],
    rows,
    targets: [],
    notes: [],
  };
}

async function restingBytes(server: Child, settleMs: number): Promise<number> {
  // Twice: what finalizers let go is collected by the next one.
  for (let i = 0; i < 2; i++) {
    const { collected } = await server.ask({ do: "collect" });
    if (collected !== true) throw new Error("the runtime does not collect on demand");
    await sleep(settleMs);
  }
  return numberIn(await server.ask({ do: "usage" }), "rssBytes");
}
