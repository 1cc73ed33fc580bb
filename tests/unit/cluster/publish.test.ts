import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { openHub } from "../../../src/cluster/open_hub.ts";
import type { JournaledEvent, JournaledHub } from "../../../src/cluster/types.ts";
import { AppendUnknownError, JournalError } from "../../../src/errors/journal.ts";
import type { Appended, JournalEvent } from "../../../src/journal/journal.ts";
import { createMemoryStore } from "../../../src/journal/memory.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { JournalClient } from "../../model/journal_client.ts";
import { HeldJournal } from "../../model/journal_held.ts";
import { ticks } from "../../model/journal_world.ts";
import { test } from "../../support/test.ts";

type Outcome = "stored" | "refused" | "lost" | "unknown";

/** A journal whose appends settle late and end as a test wants: in order, as the contract says. */
class Fateful extends HeldJournal {
  readonly fates: Outcome[] = [];
  #last: Promise<unknown> = Promise.resolve();

  override append(event: JournalEvent): Promise<Appended> {
    const fate = this.fates.shift() ?? "stored";
    const appended = this.#last.then(async () => {
      await ticks(3);
      // Stored under its id or not, its publisher cannot tell.
      if (fate === "refused") throw new JournalError("unavailable", "it is full");
      if (fate === "lost") {
        throw new AppendUnknownError(event.id ?? `id-${event.data}`, "no answer");
      }
      const id = event.id ?? `id-${event.data}`;
      const answer = await this.inner.append({ ...event, id });
      if (fate === "unknown") throw new AppendUnknownError(id, "no answer");
      return answer;
    });
    this.#last = appended.catch(() => {});
    return appended;
  }
}

interface Made {
  readonly hub: JournaledHub;
  readonly journal: Fateful;
  readonly lines: string[];
}

async function made(): Promise<Made> {
  const journal = new Fateful(createMemoryStore().open());
  const lines: string[] = [];
  const quiet = (): void => {};
  const logger = {
    ...{ debug: quiet, info: quiet, warn: quiet },
    error: (line: string): void => void lines.push(line),
  };
  return { hub: await openHub({ journal, clock: new FakeClock(), logger }), journal, lines };
}

test("whatever fails: what is stored is delivered, in the order of the calls, once, and nothing else is", async () => {
  const one = fc.record({
    ack: fc.boolean(),
    fate: fc.constantFrom<Outcome>("stored", "stored", "stored", "refused", "lost", "unknown"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(one, { maxLength: 30 }), async (events) => {
      const { hub, journal } = await made();
      const client = new JournalClient(hub);
      journal.fates.push(...events.map(({ fate }) => fate));
      const settled: (number | string)[] = [];
      const published = events.map(({ ack }, i) => {
        const event: JournaledEvent = { data: String(i), ...(!ack && { ack }) };
        return hub.publish(event).then(
          (offset) => void (settled[i] = offset),
          (error) => void (settled[i] = error.code),
        );
      });
      await Promise.all(published);
      await ticks(20 * events.length + 100);
      const stored = events.flatMap(({ fate }, i) =>
        fate === "stored" || fate === "unknown" ? [i] : []
      );
      assertEquals(client.data, stored.map(String));
      for (const [i, { ack, fate }] of events.entries()) {
        const offset = stored.indexOf(i) + 1;
        const answer = { refused: "journal", lost: "append_unknown", unknown: "append_unknown" };
        assertEquals(settled[i], !ack ? 0 : fate === "stored" ? offset : answer[fate]);
      }
      const failed = events.filter(({ fate }) => fate !== "stored").length;
      assertEquals(hub.metrics().appendFailures, failed);
      // Repeated by id, each of them is there once.
      for (const [i, { fate }] of events.entries()) {
        if (fate !== "lost" && fate !== "unknown") continue;
        const offset = await hub.publish({ data: String(i), id: `id-${i}` });
        assert(fate === "lost" ? offset > stored.length : offset === stored.indexOf(i) + 1);
      }
      await ticks(200);
      assertEquals(new Set(client.data).size, client.data.length);
      await hub.shutdown();
      assertEquals(await hub.publish({ data: "late" }), 0);
      assertEquals(await hub.publish({ data: "late", ack: false }), 0);
    }),
    { numRuns: 60, seed: 11 },
  );
});

test("failures in the background are told once for each time that they begin", async () => {
  const { hub, journal, lines } = await made();
  for (const fate of ["refused", "refused", "stored", "refused"] as const) {
    journal.fates.push(fate);
    assertEquals(await hub.publish({ data: "x", ack: false }), 0);
    await ticks(50);
  }
  assertEquals(lines.length, 2);
  assertEquals(hub.metrics().appendFailures, 3);
  await hub.shutdown();
});

test("data is read when publish is called, not when it is stored", async () => {
  const { hub } = await made();
  const client = new JournalClient(hub);
  const data = new TextEncoder().encode("before");
  const published = hub.publish({ data });
  data.fill(0x78);
  await published;
  await ticks();
  assertEquals(client.data, ["before"]);
  await assertRejects(() => hub.publish({ topic: "\n", data: "" }));
  await hub.shutdown();
});

test("that an ephemeral event stays on its pod is said once, and not where there is but one pod", async () => {
  for (const [sole, warnings] of [[false, 1], [true, 0]] as const) {
    const said: string[] = [];
    const logger = { ...console, warn: (message: string) => void said.push(message) };
    const journal = Object.assign(createMemoryStore().open(), { sole });
    const hub = await openHub({ journal, logger });
    for (let i = 0; i < 3; i++) await hub.publish({ data: "now", ephemeral: true });
    assertEquals(said.length, warnings, said.join("\n"));
    await hub.shutdown();
  }
});
