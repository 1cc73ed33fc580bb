/**
 * What does it cost a server when many clients come back at once? Real sockets: from the connect to
 * the last missed frame.
 *
 * @module
 */
import { seededRandom, shuffled } from "../fixtures.ts";
import { type Child, numberIn } from "../lib/child.ts";
import type { Options } from "../lib/options.ts";
import { format, type Report, whole } from "../lib/report.ts";
import { median } from "../lib/stats.ts";
import { type ContenderName, CONTENDERS } from "./contenders.ts";
import { closeStreams, sleep } from "./round.ts";
import { startClient, startServer } from "./servers.ts";

/** How many come back, and how many events each has missed. */
interface Storm {
  readonly clients: number;
  readonly missed: number;
}

interface Sample {
  readonly cpuMicros: number;
  readonly tookMs: number;
}

/** The first has nothing to replay: it tells what accepting a stream costs by itself. */
const MEASURED: readonly ContenderName[] = [
  "raw-node",
  "ours-node",
  "ours-node-web",
  "ours-deno",
  "ours-bun",
];
const RING = 10_000;
/** How many rounds go before, unmeasured. */
const WARM_ROUNDS = 2;
const SETTLE_MS = 100;
const WAIT_MS = 15_000;

/**
 * Runs the benchmark.
 *
 * @param options What the command line asked for.
 * @param log Where to tell how far it is.
 * @returns The report.
 */
export async function runResume(options: Options, log: (line: string) => void): Promise<Report> {
  const rounds = options.rounds ?? (options.quick ? 1 : 5);
  const storms: Storm[] = options.quick
    ? [{ clients: 20, missed: 0 }, { clients: 20, missed: 256 }]
    : [
      { clients: 200, missed: 0 },
      { clients: 200, missed: 256 },
      { clients: 20, missed: 10_000 },
    ];
  const random = seededRandom(options.seed);
  const rows: string[][] = [];
  const client = await startClient();
  try {
    for (const contender of CONTENDERS.filter(({ name }) => MEASURED.includes(name))) {
      const server = await startServer(contender);
      try {
        await server.ask({ do: "publish", bursts: RING / 100, size: 100, everyMs: 0 });
        const possible = storms.filter(({ missed }) => missed === 0 || server.ready.epoch !== null);
        const samples = new Map<Storm, Sample[]>(possible.map((storm) => [storm, []]));
        // Opening is compiled first, as in a server that has been up for a while.
        for (let round = options.quick ? 0 : -WARM_ROUNDS; round < rounds; round++) {
          for (const storm of shuffled(possible, random)) {
            const sample = await measure(server, client, storm);
            if (round >= 0) samples.get(storm)?.push(sample);
          }
        }
        for (const [storm, own] of samples) rows.push(rowOf(contender.what, storm, own));
      } finally {
        await server.stop();
      }
      log(`resume: ${contender.name}`);
    }
  } finally {
    await client.stop();
  }
  return {
    title: `Resuming over sockets, a ring of ${whole(RING)} events, median of ${rounds} rounds`,
    columns: ["server", "clients", "missed by each", "CPU µs/client", "CPU µs/frame", "ms in all"],
    rows,
    targets: [],
    notes: [],
  };
}

function rowOf(what: string, { clients, missed }: Storm, samples: readonly Sample[]): string[] {
  const micros = median(samples.map(({ cpuMicros }) => cpuMicros)) / clients;
  return [
    what,
    whole(clients),
    whole(missed),
    format(micros),
    missed === 0 ? "–" : format(micros / missed),
    format(median(samples.map(({ tookMs }) => tookMs))),
  ];
}

async function measure(server: Child, client: Child, storm: Storm): Promise<Sample> {
  const port = numberIn(server.ready, "port");
  const cursor = `${String(server.ready.epoch)}:${RING - storm.missed}`;
  const before = await server.ask({ do: "usage" });
  const start = performance.now();
  await client.ask({
    do: "connect",
    port,
    path: "/events",
    count: storm.clients,
    cursor,
    each: storm.missed,
  });
  const received = await client.ask(
    { do: "wait", each: storm.missed, withinMs: WAIT_MS },
    2 * WAIT_MS,
  );
  const tookMs = performance.now() - start;
  await sleep(SETTLE_MS);
  const after = await server.ask({ do: "usage" });
  const wrong = received.wrong as readonly string[];
  if (received.least !== storm.missed || received.most !== storm.missed || wrong.length > 0) {
    throw new Error(
      `a client got ${received.least} to ${received.most} of ${storm.missed} missed frames, ` +
        `${wrong.join("; ")}`,
    );
  }
  await closeStreams(server, client);
  return { cpuMicros: numberIn(after, "cpuMicros") - numberIn(before, "cpuMicros"), tookMs };
}
