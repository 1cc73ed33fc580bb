/**
 * Each way in which an epoch could lie under a running pod: whatever becomes of the store, nobody is
 * resumed over a hole, and no cursor means two events.
 *
 * @module
 */
import { assert, assertEquals, assertGreater, assertMatch, assertNotEquals } from "@std/assert";
import type { FixtureJournalOpener } from "../../src/testing/fixture/core.ts";
import { BROKERS } from "../support/journal_broker.ts";
import { type HarmedStore, startSqlite } from "../support/journal_file.ts";
import { Listener } from "../support/journal_listener.ts";
import { Pod } from "../support/journal_pod.ts";
import type { Witness } from "../support/journal_witness.ts";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";

/** So few that most cursors need the journal. */
const RING = 2;
const COPIED = 6;
const BEFORE = 10;
const DAY_MS = 86_400_000;

interface Kind {
  readonly name: string;
  readonly needs: readonly string[];
  readonly losesCounter: "changes the epoch" | "is damaged";
  start(): Promise<HarmedStore>;
}

const KINDS: readonly Kind[] = [
  { name: "sqlite", needs: [], losesCounter: "changes the epoch", start: () => startSqlite() },
  ...BROKERS.map(({ name, program, start }): Kind => ({
    name,
    needs: [program],
    // Its entries are there, and contradict a counter that begins anew.
    losesCounter: name === "redis" ? "is damaged" : "changes the epoch",
    start,
  })),
];

function startPod(open: FixtureJournalOpener, witness?: Witness): Promise<Pod> {
  return Pod.start(open, { replayEvents: RING, keepaliveMs: 100, writeTimeoutMs: 5000 }, witness);
}

async function publishAll(pod: Pod, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n++) {
    const { status, message } = await pod.publish(`event ${n}`);
    assertEquals([status, message], [200, ""]);
  }
}

/** A running pod with a client that has everything, before something happens to its store. */
interface Scene {
  readonly store: HarmedStore;
  readonly pod: Pod;
  readonly live: Listener;
  readonly epoch: string;
  /** Puts the copy back that was taken after {@linkcode COPIED} events. */
  restore(): Promise<void>;
}

async function onScene(
  kind: Pick<Kind, "start">,
  copied: boolean,
  work: (scene: Scene) => Promise<void>,
): Promise<void> {
  const store = await kind.start();
  let pod: Pod | undefined;
  let live: Listener | undefined;
  try {
    pod = await startPod(store.open);
    live = new Listener(pod.url);
    const { url } = pod;
    const listener = live;
    await eventually(() => listener.open, { what: `a client at ${url}` });
    await publishAll(pod, 1, COPIED);
    const restore = copied ? await store.copy() : () => Promise.resolve();
    // Some brokers are restarted for a copy to be taken.
    await eventuallyPublished(pod, `event ${COPIED + 1}`);
    await publishAll(pod, COPIED + 2, BEFORE);
    await eventually(() => listener.reached >= BEFORE, { what: "the client to have everything" });
    await work({ store, pod, live, epoch: await pod.epoch(), restore });
  } finally {
    live?.stop();
    await pod?.stop();
    await store.dispose();
  }
}

/** Publishes until it is stored; each attempt is another event. */
async function eventuallyPublished(
  pod: Pod,
  name: string,
): Promise<{ readonly offset: number; readonly data: string }> {
  let attempts = 0;
  return await eventually(async () => {
    const data = `${name}, attempt ${++attempts}`;
    const { status, code, message, offsets: [offset] } = await pod.publish(data);
    if (status !== 200) assert(code === "journal" || code === "append_unknown", message);
    return offset === undefined ? null : { offset, data };
  }, { what: `"${name}" to be stored`, timeoutMs: 15_000, everyMs: 50 });
}

/** What happens first after the store has changed, before anybody can have noticed. */
type First = "is published to" | "is asked by clients" | "is left alone";
const FIRSTS: readonly First[] = ["is published to", "is asked by clients", "is left alone"];

/** Everybody is sent away, and what they present then is void. */
async function assertNewEpoch(scene: Scene, first: First): Promise<void> {
  const { pod, live, epoch } = scene;
  if (first === "is published to") await eventuallyPublished(pod, "the first after");
  // What is asked checks that nobody is resumed over a hole.
  if (first === "is asked by clients") await pod.askAll();
  await eventually(() => live.verdicts.at(-1) === "epoch_changed", {
    what: "the client to be sent away and judged anew",
  });
  const now = await pod.epoch();
  assertNotEquals(now, epoch);
  await eventuallyPublished(pod, "the next");
  await publishAll(pod, BEFORE + 1, BEFORE + 3);
  await eventually(() => live.data.at(-1) === `event ${BEFORE + 3}`, {
    what: "the client to go on",
  });
  assertEquals(live.verdicts, ["fresh", "epoch_changed"]);
  assertEquals(live.repeated, 0);
  // The old epoch means what it has meant, and went on without a hole for as long as it lasted.
  const old = live.heard.filter((heard) => heard.epoch === epoch);
  assertEquals(old.map(({ offset }) => offset), old.map((_, n) => n + 1));
  assertGreater(old.length, BEFORE - 1);
  const verdicts = new Map<string, number>();
  for (const [cursor, { verdict }] of await pod.askAll()) {
    const what = `${cursor.startsWith(`${epoch}:`) ? "old" : "new"} ${verdict}`;
    // Nothing was held when it began, but its number may be above 0.
    if (cursor !== `${now}:0`) verdicts.set(what, (verdicts.get(what) ?? 0) + 1);
  }
  assertEquals([...verdicts.keys()].sort(), ["new resumed", "old epoch_changed"]);
  assertEquals(verdicts.get("old epoch_changed"), old.length + 1);
}

/** The numbers go on; whoever has missed what is gone is told so. */
async function assertSameEpoch(
  { pod, epoch }: Pick<Scene, "pod" | "epoch">,
  head: number,
): Promise<void> {
  assertEquals(await pod.epoch(), epoch);
  let [resumed, told] = [0, 0];
  for (const [cursor, { verdict }] of await pod.askAll()) {
    if (verdict === "resumed") resumed++;
    else if (verdict === "gap_floor") told++;
    else throw new Error(`${cursor} was answered ${verdict}`);
  }
  assertEquals((await pod.ask(`${epoch}:1`)).verdict, "gap_floor");
  assertEquals((await pod.ask(`${epoch}:${head}`)).verdict, "resumed");
  assertGreater(Math.min(resumed, told), 0);
}

for (const kind of KINDS) {
  const { name } = kind;
  const options = { needs: kind.needs, foreignTimers: true };

  for (const first of FIRSTS) {
    test(
      `${name}: an older copy that is put back under a running pod, and ${first}, ends its epoch`,
      () =>
        onScene(kind, true, async (scene) => {
          await scene.restore();
          await assertNewEpoch(scene, first);
        }),
      options,
    );

    test(
      `${name}: a store that came back empty under a running pod, and ${first}, has another epoch`,
      () =>
        onScene(kind, false, async (scene) => {
          await scene.store.empty();
          await assertNewEpoch(scene, first);
        }),
      options,
    );

    if (kind.losesCounter !== "changes the epoch") continue;
    test(
      `${name}: a counter that is lost under a running pod, which ${first}, ends its epoch`,
      () =>
        onScene(kind, false, async (scene) => {
          await scene.store.loseCounter();
          await assertNewEpoch(scene, first);
        }),
      options,
    );
  }

  if (kind.losesCounter === "is damaged") {
    test(
      `${name}: a counter that is lost under a running pod is refused as damage, until all is taken away`,
      () =>
        onScene(kind, false, async (scene) => {
          const { store, pod, epoch } = scene;
          await store.loseCounter();
          const { status, code, message } = await pod.publish("refused");
          assertEquals([status, code], [503, "journal"]);
          assertMatch(message, /^Cannot use the journal: /);
          for (const [cursor, { verdict }] of await pod.askAll()) {
            const inRing = Number(cursor.slice(17)) >= BEFORE - RING;
            assertEquals([cursor, verdict], [cursor, inRing ? "resumed" : null]);
          }
          assertEquals(await pod.epoch(), epoch);
          await store.empty();
          await assertNewEpoch(scene, "is left alone");
        }),
      options,
    );
  }

  test(
    `${name}: a purge keeps the epoch and the numbers, under a running pod and over its restart`,
    () =>
      onScene(kind, false, async ({ store, pod, live, epoch }) => {
        await store.purge();
        const { offset, data } = await eventuallyPublished(pod, "the first after");
        assertEquals(offset, BEFORE + 1);
        await eventually(() => live.data.at(-1) === data, {
          what: "the client to go on",
        });
        assertEquals(live.verdicts, ["fresh"], "it had everything, and stays");
        await assertSameEpoch({ pod, epoch }, BEFORE + 1);

        // Empty again, with nobody there: the numbers must not begin anew.
        await store.purge();
        await pod.stop();
        const next = await startPod(store.open, pod.witness);
        try {
          assertEquals((await eventuallyPublished(next, "the second after")).offset, BEFORE + 2);
          await assertSameEpoch({ pod: next, epoch }, BEFORE + 2);
        } finally {
          await next.stop();
        }
      }),
    options,
  );
}

for (const kind of BROKERS) {
  test(
    `${kind.name}: an older copy that another pod has let grow on is seen by the pod that knew more`,
    () =>
      onScene(kind, true, async (scene) => {
        const { store, pod, live, epoch } = scene;
        await scene.restore();
        // It knows nothing of what is lost, and the numbers are given again.
        const other = await startPod(store.open);
        const its = new Listener(other.url);
        try {
          for (let n = COPIED + 1; n <= BEFORE + 3; n++) {
            await eventuallyPublished(other, `another ${n}`);
          }
          await eventually(async () => {
            const epochs = [await pod.epoch(), await other.epoch()];
            return epochs[0] === epochs[1] && epochs[0] !== epoch;
          }, { what: "both pods to have the same new epoch" });
          const now = await pod.epoch();
          const judged = (): boolean =>
            [live, its].every(({ hellos }) => hellos.at(-1)?.epoch === now);
          await eventually(judged, { what: "the clients of both pods to be judged anew" });
          const { data } = await eventuallyPublished(pod, "the first of both");
          for (const listener of [live, its]) {
            await eventually(() => listener.data.at(-1) === data, {
              what: "the clients of both pods to go on",
            });
          }
          assertEquals(live.verdicts, ["fresh", "epoch_changed"]);
          const old = live.heard.filter((heard) => heard.epoch === epoch);
          // It had them all, and is told nothing else under their numbers.
          assertEquals(old.map(({ data }) => data), live.data.slice(0, BEFORE));
          for (let offset = 0; offset <= BEFORE + 3; offset++) {
            for (const each of [pod, other]) {
              assertEquals((await each.ask(`${epoch}:${offset}`)).verdict, "epoch_changed");
            }
          }
        } finally {
          its.stop();
          await other.stop();
        }
      }),
    { needs: [kind.program], foreignTimers: true },
  );
}

test("sqlite: what was trimmed to empty by age goes on with its numbers after a restart", async () => {
  let late = 0;
  const now = (): number => Date.now() + late;
  await onScene({ start: () => startSqlite(now) }, false, async ({ store, pod, epoch }) => {
    await pod.stop();
    late = 8 * DAY_MS;
    const next = await startPod(store.open, pod.witness);
    try {
      const { position } = await next.state();
      assertEquals(position, { epoch, floor: "0", head: String(BEFORE) });
      assertEquals((await next.ask(`${epoch}:${BEFORE - 1}`)).verdict, "gap_floor");
      late = 0;
      assertEquals((await eventuallyPublished(next, "the first after")).offset, BEFORE + 1);
      await assertSameEpoch({ pod: next, epoch }, BEFORE + 1);
    } finally {
      await next.stop();
    }
  });
});
