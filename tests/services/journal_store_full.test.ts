/**
 * A pod over a SQLite file on a disk that is full.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type RunningFixture, startFixture } from "../support/fixture.ts";
import { assertRefused, publishAll, withFilePod, withFolder } from "../support/journal_file.ts";
import { runtimeOf } from "../support/journal_life.ts";
import { Listener } from "../support/journal_listener.ts";
import { eventually } from "../support/poll.ts";
import { openStream } from "../support/stream.ts";
import { test } from "../support/test.ts";

const BIG = 200_000;

test(
  "a full disk refuses each event that has no room, delivers none of them, and is forgotten once there is room",
  () =>
    withFolder((folder) =>
      withFilePod(`${folder}/journal.db`, { replayEvents: 4 }, async (pod, database) => {
        const limit = (pages: number): unknown =>
          database.prepare(`PRAGMA max_page_count = ${pages}`).all();
        const live = new Listener(pod.url);
        const stream = await pod.stream();
        await stream.hello();
        const stored = ["1", "2", "3", "4", "5", "6"];
        await publishAll(pod, stored);
        const epoch = await pod.epoch();

        const [pages] = database.prepare("PRAGMA page_count").all() as { page_count: number }[];
        limit(pages?.page_count ?? 0);
        assertRefused(await pod.publish(`refused ${"x".repeat(BIG)}`), /database or disk is full/);
        // Until not even a small one has room; those that have it are stored.
        await eventually(async () => {
          const data = `small ${stored.length} ${"y".repeat(1000)}`;
          const outcome = await pod.publish(data);
          if (outcome.status !== 200) assertRefused(outcome, /database or disk is full/);
          else stored.push(data);
          return outcome.status === 503;
        }, { what: "a small event to be refused", everyMs: 1 });

        // Whoever is connected stays, and is told that the pod lives.
        const beats = stream.keepalives;
        await stream.until("two more keepalives", () => stream.keepalives >= beats + 2);
        // Whoever comes back is resumed, from the ring and from the file.
        for (const offset of [stored.length, stored.length - 2, 1, 0]) {
          const answer = await pod.ask(`${epoch}:${offset}`);
          assertEquals([answer.verdict, answer.data], ["resumed", stored.slice(offset)]);
        }

        limit(1_000_000);
        const last = `last ${"z".repeat(BIG)}`;
        stored.push(last);
        assertEquals((await pod.publish(last)).offsets, [stored.length]);
        assertEquals(await pod.epoch(), epoch);
        await stream.reached(stored.length);
        assertEquals(stream.durable.map(({ data }) => data), stored);
        await eventually(() => live.data.length >= stored.length, { what: "the live client" });
        assertEquals(live.data, stored);
        assertEquals(live.verdicts, ["fresh"], "it was never cut");
        assertEquals((await pod.ask(`${epoch}:0`)).data, stored);
        live.stop();
      })
    ),
);

test(
  "a disk that is really full refuses in the same way, and the pod goes on when something was deleted",
  async () => {
    // No program to install: some systems forbid it to all but root. The test above asks the same.
    if (!await canMount()) return console.warn("SKIPPED: `unshare -rm` may not mount anything");
    await withFolder(async (folder) => {
      const fixture = await startOnSmallDisk(folder);
      try {
        await fillAndFree(fixture, `/proc/${fixture.pid}/root${folder}/filler`);
      } finally {
        await fixture.stop();
      }
    });
  },
);

const MOUNT = 'mount -t tmpfs -o size=1m none "$0" && head -c 600000 /dev/zero >"$0/filler"';

async function canMount(): Promise<boolean> {
  const folder = await Deno.makeTempDir();
  const stdio = { stdout: "null", stderr: "null" } as const;
  try {
    const args = ["-rm", "sh", "-c", MOUNT, folder];
    return (await new Deno.Command("unshare", { args, ...stdio }).output()).success;
  } catch {
    return false;
  } finally {
    await Deno.remove(folder);
  }
}

/** A pod that alone sees a disk of 1 MiB on its folder, most of which somebody else has filled. */
function startOnSmallDisk(folder: string): Promise<RunningFixture> {
  const deno = runtimeOf("deno");
  const argv = ["unshare", "-rm", "sh", "-c", `${MOUNT} && exec "$@"`, folder] as const;
  const command = { ...deno.command, argv: [...argv, ...deno.command.argv] as const };
  const journal = `sqlite:${folder}/journal.db`;
  return startFixture({ ...deno, command }, { journal, keepaliveMs: 100 });
}

async function fillAndFree(fixture: RunningFixture, filler: string): Promise<void> {
  const post = async (data: string): Promise<readonly [status: number, text: string]> => {
    const body = JSON.stringify({ data });
    const response = await fetch(`${fixture.url}/control/publish`, { method: "POST", body });
    return [response.status, await response.text()];
  };
  const stream = await openStream(`${fixture.url}/events`);
  const stored: string[] = [];
  const refused: string[] = [];
  const next = (): string => `${stored.length + refused.length} ${"x".repeat(20_000)}`;
  await eventually(async () => {
    const data = next();
    const [status, text] = await post(data);
    if (status === 200) stored.push(data);
    else {
      assertEquals(status, 503, text);
      assertMatch(text, /"journal"/);
      assertMatch(text, /disk is full/);
      refused.push(data);
    }
    return refused.length >= 3;
  }, { what: "the disk to be full", everyMs: 1 });
  assert(stored.length > 2, "some had room before");

  await Deno.remove(filler);
  const data = next();
  assertEquals((await post(data))[0], 200, "there is room again");
  stored.push(data);
  await stream.reached(stored.length);
  assertEquals(stream.durable.map((block) => block.data), stored);
  const { epoch } = (await fixture.state()).position;
  const again = await openStream(`${fixture.url}/events`, { cursor: `${epoch}:0` });
  await again.reached(stored.length);
  assertEquals(again.durable.map((block) => block.data), stored);
  await Promise.all([stream.close(), again.close()]);
}
