/**
 * A browser that is really slow, under the policy `lag`: its process that reads the sockets stands
 * still, as on a machine that is busy with something else.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { BROWSERS } from "../support/runtimes.ts";
import type { Account, LagProbe } from "./page/lag.ts";
import { browserGroup, type BrowserTests, type Ground } from "./support/ground.ts";
import { holdersOf } from "./support/holder.ts";
import type { ProbedTab } from "./support/probe.ts";

/** So little is kept for a slow client that nothing can fill its hole again. */
const FLAGS = { slow: "lag", clientBuffer: 4, replayEvents: 8, replyMax: 8 } as const;
/** Together they are more than the kernel, the site and the proxy hold on the way to a page. */
const EVENT_BYTES = 250_000;
const EVENTS = 180;
/** What comes once the page has caught up. */
const MORE = 3;

const tests: BrowserTests = {
  async "a page is told how much it did not get, stays connected, and goes on with what comes next"(
    ground,
  ) {
    const tab = await ground.open<LagProbe>("lag");
    await tab.ask("listen", "/events?topic=a");
    await until(tab, ({ hellos }) => hellos === 1, "the hellos");
    await publish(ground, 1);
    await until(tab, ({ got }) => got.length === 1, "the first event");
    await whileStopped(ground, () => publish(ground, EVENTS - 1, EVENT_BYTES));
    await until(tab, ({ got }) => got.at(-1) === EVENTS, "the newest event");
    await publish(ground, MORE);
    const accounts = await until(tab, ({ got }) => got.at(-1) === EVENTS + MORE, "what comes next");
    for (const { got, notices, hellos, losses } of accounts) {
      const holes = got.flatMap((offset, index) => {
        const after = got[index - 1] ?? 0;
        return offset === after + 1 ? [] : [{ after, missed: offset - after - 1 }];
      });
      assert(holes.length > 0, "it was slow enough to miss something");
      assertEquals(notices, holes, "told just there, and just so many");
      assertEquals(got, got.toSorted((a, b) => a - b), "in order");
      assertEquals([hellos, losses], [1, 0], "on the connection that it had");
    }
  },
};

for (const browser of BROWSERS) browserGroup(browser, "a slow reader", FLAGS, tests);

async function publish(ground: Ground, count: number, size?: number): Promise<void> {
  // One by one: what is published in one turn is a burst, and no client is slow for that.
  for (let i = 0; i < count; i++) {
    await ground.publish({ topic: "a", name: "tick", ...(size !== undefined && { size }) });
  }
}

function until(
  tab: ProbedTab<LagProbe>,
  holds: (account: Account) => boolean,
  what: string,
): Promise<readonly [Account, Account]> {
  return tab.until("accounts", (accounts) => accounts.every(holds), { what });
}

/** Does something while the browser takes nothing from its sockets. */
async function whileStopped(ground: Ground, work: () => Promise<void>): Promise<void> {
  const pids = await holdersOf(ground.proxy.port);
  assert(pids.length > 0, "somebody holds the page's connections");
  for (const pid of pids) Deno.kill(pid, "SIGSTOP");
  try {
    await work();
  } finally {
    for (const pid of pids) Deno.kill(pid, "SIGCONT");
  }
}
