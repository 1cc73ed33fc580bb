/**
 * Playing the scenarios: each client in turn, against one server.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { FixtureOptions } from "../../../src/testing/fixture/options.ts";
import { ClientProcess } from "../../support/client_process.ts";
import type { ClientRuntime, Runtime } from "../../support/runtimes.ts";
import { within } from "../lib/within.ts";
import { Pair, Place, type Scenarios } from "./pair.ts";

/** Scenarios that share one fixture. */
export interface Group {
  /** What they are about. */
  readonly idea: string;
  /** The fixture's settings. */
  readonly flags: FixtureOptions;
  /** Those for each pair. */
  readonly scenarios: Scenarios;
  /** Those for a client and a server of one runtime alone: they take more of the machine. */
  readonly dear?: Scenarios;
}

const SCENARIO_MS = 60_000;

/**
 * Registers scenarios: for one server, with each client in turn. All fixtures of the server live as
 * long as the test, and each client as long as its part of it: to start one takes longer than most
 * scenarios.
 *
 * @param runtime Where the server runs.
 * @param clients The clients.
 * @param groups The scenarios.
 */
export function pairs(
  runtime: Runtime,
  clients: readonly ClientRuntime[],
  groups: readonly Group[],
): void {
  Deno.test(`clients of ${runtime.name}`, async (context) => {
    const places = await Promise.all(groups.map(async (group) => {
      return { group, place: await Place.start(runtime, group.flags) };
    }));
    try {
      for (const each of clients) {
        await context.step(`${each.name} client, ${runtime.name} server`, async (inner) => {
          const client = await ClientProcess.start(each);
          try {
            for (const { group, place } of places) await playAll(inner, client, place, group);
          } finally {
            await client.close();
          }
          // Warnings of leaked listeners, and rejections that nobody took.
          await inner.step("the platform had nothing to complain of", () => {
            assertEquals(client.log, "");
          });
        });
      }
    } finally {
      await Promise.all(places.map(({ place }) => place.close()));
    }
  });
}

async function playAll(
  context: Deno.TestContext,
  client: ClientProcess,
  place: Place,
  { idea, scenarios, dear }: Group,
): Promise<void> {
  const twins = client.runtime.twin === place.fixture.runtime.name;
  for (const [name, scenario] of Object.entries({ ...scenarios, ...(twins ? dear : {}) })) {
    await context.step(`${idea}: ${name}`, () => play(client, place, scenario));
  }
}

/** Each scenario begins on a new hub, so that none sees what another left behind. */
async function play(
  client: ClientProcess,
  place: Place,
  scenario: (pair: Pair) => Promise<void>,
): Promise<void> {
  await place.fixture.control("restart");
  const pair = new Pair(client, place);
  const before = place.fixture.log().length;
  let failure: unknown = null;
  try {
    await within(SCENARIO_MS, () => scenario(pair));
  } catch (error) {
    const log = place.fixture.log().slice(before);
    if (error instanceof Error && log !== "") error.message += `\n[server]\n${log}`;
    failure = error;
  }
  // What fails while it is cleared away matters only when nothing did before.
  await pair.close().catch((error: unknown) => failure ??= error);
  if (failure !== null) throw failure;
}
