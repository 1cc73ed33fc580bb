/**
 * What does it cost a server to deliver one frame? Real sockets, whole processes, peers side by side.
 *
 * @module
 */
import { seededRandom, shuffled } from "../fixtures.ts";
import type { Child } from "../lib/child.ts";
import type { Options } from "../lib/options.ts";
import { format, type Report } from "../lib/report.ts";
import { type Contender, CONTENDERS } from "./contenders.ts";
import { measure, type Mode, openStreams, type Round } from "./round.ts";
import { startClient, startServer } from "./servers.ts";
import { summary } from "./summary.ts";

/** A contender under measurement. Its streams stay open from the first round to the last. */
export interface Lane {
  /** Who. */
  readonly contender: Contender;
  /** Its server. */
  readonly server: Child;
  /** The load of its own: a process that is idle while others are measured. */
  readonly client: Child;
  /** By way of publishing, the rounds; `null` stands for one that never counted. */
  readonly rounds: Readonly<Record<Mode["name"], (Round | null)[]>>;
  /** Why rounds did not count. */
  readonly voids: string[];
}

/** How much is measured. */
export interface Plan {
  /** How many streams each server has. */
  readonly clients: number;
  /** How often each contender is measured. */
  readonly rounds: number;
  /** The ways of publishing. */
  readonly modes: readonly Mode[];
}

/** How often a contender may repeat rounds that do not count, over the whole run. */
const MAX_VOID = 8;
/** Unmeasured, once: so that every program has been compiled by its runtime. */
const WARM_UP: Mode = { name: "single", size: 1, bursts: 150, everyMs: 20 };
const QUICK_WARM_UP: Mode = { ...WARM_UP, bursts: 30 };
/** Unmeasured, before each round: it has been idle while the others were measured. */
const WAKE_UP: Mode = { name: "single", size: 1, bursts: 10, everyMs: 20 };

/** The rates keep every contender below one core: what is saturated measures something else. */
function planFor(options: Options): Plan {
  const { quick } = options;
  return {
    clients: options.clients ?? (quick ? 100 : 500),
    rounds: options.rounds ?? (quick ? 1 : 7),
    modes: [
      { name: "single", size: 1, bursts: quick ? 15 : 40, everyMs: 50 },
      { name: "burst", size: 10, bursts: quick ? 4 : 12, everyMs: 250 },
    ],
  };
}

/**
 * Runs the benchmark.
 *
 * @param options What the command line asked for.
 * @param log Where to tell how far it is.
 * @returns The report.
 */
export async function runLoad(options: Options, log: (line: string) => void): Promise<Report> {
  const plan = planFor(options);
  const random = seededRandom(options.seed);
  const lanes: Lane[] = [];
  try {
    for (const contender of chosen(options)) {
      lanes.push({
        contender,
        server: await startServer(contender),
        client: await startClient(),
        rounds: { single: [], burst: [] },
        voids: [],
      });
    }
    for (const { contender, server, client } of lanes) {
      await openStreams(server, client, plan.clients);
      const warmUp = options.quick ? QUICK_WARM_UP : WARM_UP;
      await measure(server, client, plan.clients, warmUp);
      log(`warmed up: ${contender.name}`);
    }
    for (let round = 1; round <= plan.rounds; round++) {
      for (const lane of shuffled(lanes, random)) {
        await visit(lane, plan);
        log(`round ${round} of ${plan.rounds}: ${lane.contender.name}: ${lastOf(lane)}`);
      }
    }
  } finally {
    await Promise.all(lanes.flatMap(({ server, client }) => [server.stop(), client.stop()]));
  }
  return summary(plan, lanes);
}

function chosen(options: Options): Contender[] {
  const { only } = options;
  const unknown = only?.find((name) => !CONTENDERS.some((one) => one.name === name));
  if (unknown !== undefined) {
    throw new Error(
      `Cannot run ${unknown}: there are ${CONTENDERS.map(({ name }) => name).join(", ")}`,
    );
  }
  return CONTENDERS.filter(({ name, extra }) =>
    only === null ? extra !== true : only.includes(name)
  );
}

/** One round of each mode; one that does not count is repeated, within a bound. */
async function visit({ server, client, rounds, voids }: Lane, plan: Plan): Promise<void> {
  await measure(server, client, plan.clients, WAKE_UP);
  for (const mode of plan.modes) {
    let round = await measure(server, client, plan.clients, mode);
    while ("why" in round) {
      voids.push(`${mode.name}, ${round.why}`);
      if (voids.length >= MAX_VOID) break;
      round = await measure(server, client, plan.clients, mode);
    }
    rounds[mode.name].push("why" in round ? null : round);
  }
}

function lastOf({ rounds }: Lane): string {
  const of = (list: readonly (Round | null)[]): string =>
    format(list.at(-1)?.microsPerFrame ?? NaN);
  return `${of(rounds.single)} µs one at a time, ${of(rounds.burst)} µs in bursts`;
}
