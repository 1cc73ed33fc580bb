/**
 * A pod over a SQLite file that somebody else has, that is damaged, or that is taken away.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { assertRefused, publishAll, withFilePod, withFolder } from "../support/journal_file.ts";
import { refusedFixture } from "../support/journal_life.ts";
import { Listener } from "../support/journal_listener.ts";
import type { Outcome } from "../support/journal_pod.ts";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";

test("a file that another pod has open is refused by a second one, in one clear line", () =>
  withFolder((folder) =>
    withFilePod(`${folder}/journal.db`, { replayEvents: 4 }, async (pod) => {
      await publishAll(pod, ["1"]);
      const { code, stdout, lines } = await refusedFixture("deno", {
        journal: `sqlite:${folder}/journal.db`,
      });
      assertEquals(stdout, "");
      assertEquals(lines.length, 1, lines.join("\n"));
      assertMatch(lines[0] ?? "", /^Cannot use the journal: .*locked/);
      assert(code !== 0);
      await publishAll(pod, ["2"]);
      assertEquals((await pod.ask(`${await pod.epoch()}:0`)).data, ["1", "2"]);
    })
  ));

const PAGE_BYTES = 4096;
const DAMAGES: readonly (readonly [what: string, damage: (bytes: Uint8Array) => void])[] = [
  ["has garbage for a header", (bytes) => bytes.fill(0xa5, 0, 100)],
  ["has garbage for pages", (bytes) => bytes.fill(0xa5, PAGE_BYTES)],
  ["has pages of bits that were flipped", (bytes) => {
    for (let i = PAGE_BYTES; i < bytes.length; i++) bytes[i] = ~(bytes[i] ?? 0);
  }],
];
for (const [what, damage] of DAMAGES) {
  test(`a file that ${what} is refused at the start, in one clear line`, () =>
    withFolder(async (folder) => {
      const path = `${folder}/journal.db`;
      await withFilePod(
        path,
        { replayEvents: 4 },
        (pod) => publishAll(pod, Array.from({ length: 100 }, (_, n) => `${n} `.repeat(50))),
      );
      const bytes = await Deno.readFile(path);
      damage(bytes);
      await Deno.writeFile(path, bytes);
      const { code, stdout, lines } = await refusedFixture("deno", { journal: `sqlite:${path}` });
      assertEquals(stdout, "");
      assertEquals(lines.length, 1, lines.join("\n"));
      assertMatch(
        lines[0] ?? "",
        /^Cannot use the journal: .*(file is not a database|malformed)/,
      );
      assert(code !== 0);
      // But for the header's counters it is left to whoever can mend it.
      assertEquals((await Deno.readFile(path)).subarray(100), bytes.subarray(100));
    }));
}

test("a file with one page of garbage in its middle is refused, or nobody is resumed over it", () =>
  withFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    const data = Array.from({ length: 60 }, (_, n) => `${n} `.padEnd(2000, "x"));
    await withFilePod(path, { replayEvents: 4 }, (pod) => publishAll(pod, data));
    const whole = await Deno.readFile(path);
    const pages = whole.length / PAGE_BYTES;
    let [refused, turnedAway, harmless] = [0, 0, 0];
    for (let page = 1; page < pages; page += 3) {
      const bytes = whole.slice();
      bytes.fill(0xa5, page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
      await Deno.writeFile(path, bytes);
      const opened = withFilePod(path, { replayEvents: 4 }, async (pod) => {
        const { data: given, whole } = await pod.ask(`${await pod.epoch()}:0`);
        // Up to the garbage it may have come; beyond it never.
        assertEquals(given, data.slice(0, given.length));
        assertEquals(given.length === data.length, whole);
        if (given.length < data.length) turnedAway++;
        else harmless++;
      });
      await opened.catch((error: unknown) => {
        assertMatch(String(error), /malformed|Cannot use the journal/);
        refused++;
      });
    }
    console.log(`${refused} refused, ${turnedAway} turned away at it, ${harmless} not met by it`);
    assert(refused + turnedAway > pages / 6);
  }));

for (
  const [what, text, take] of [
    ["taken away", /is no longer in its place/, () => Promise.resolve()],
    ["replaced by an older copy", /was replaced by another one/, async (path: string) => {
      await Deno.copyFile(`${path}.copy`, path);
    }],
  ] as const
) {
  test(`a file that is ${what} under a running pod takes nothing more, until it is put back`, () =>
    withFolder(async (folder) => {
      const path = `${folder}/journal.db`;
      await withFilePod(path, { replayEvents: 4 }, (pod) => publishAll(pod, ["1", "2"]));
      await Deno.copyFile(path, `${path}.copy`);
      await withFilePod(path, { replayEvents: 4 }, async (pod) => {
        const stream = await pod.stream();
        await stream.hello();
        const stored = ["1", "2"];
        const refused: string[] = [];
        const publish = async (data: string): Promise<Outcome> => {
          const outcome = await pod.publish(data);
          (outcome.status === 200 ? stored : refused).push(data);
          return outcome;
        };
        for (let n = 3; n <= 8; n++) await publish(`${n}`);
        assertEquals(refused, []);
        const epoch = await pod.epoch();
        const live = new Listener(pod.url, { cursor: `${epoch}:0` });
        await eventually(() => live.reached >= 8, { what: "the live client" });

        await Deno.rename(path, `${path}.moved`);
        await take(path);
        // It is looked at once a second: until then it takes what may be lost.
        const outcome = await eventually(async () => {
          const answer = await publish(`${stored.length + refused.length + 1}`);
          return answer.status === 200 ? null : answer;
        }, { what: "an event to be refused", timeoutMs: 3000, everyMs: 100 });
        assertRefused(outcome, text);
        assertRefused(await publish("more"), text);
        const beats = stream.keepalives;
        await stream.until("two more keepalives", () => stream.keepalives >= beats + 2);
        // What it took last may wait until the file is back, where the reader looked before it read.
        const head = stream.offsets.at(-1) ?? 0;
        assert(head >= 8);
        assertEquals((await pod.ask(`${epoch}:${head - 3}`)).verdict, "resumed");
        // What stands in the file can be told to nobody, and nobody is told that it is gone.
        assertEquals((await pod.ask(`${epoch}:1`)).verdict, null);

        await Deno.rename(`${path}.moved`, path);
        await eventually(async () => (await publish("back")).status === 200, {
          what: "the file to be the pod's again",
        });
        await eventually(() => live.data.at(-1) === "back", { what: "the live client to go on" });
        assertEquals(live.data, stored);
        assertEquals(live.verdicts, ["resumed"]);
        assertEquals((await pod.ask(`${epoch}:1`)).data, stored.slice(1));
        live.stop();
        for (const [cursor, answer] of await pod.askAll()) {
          assertEquals(answer.verdict, "resumed", cursor);
        }
      });
    }));
}
