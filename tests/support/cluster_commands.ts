/**
 * Subscribing on a live connection from pods that do not hold it, as its owner and as a stranger.
 *
 * @module
 */
import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { type Cluster, looksOf, median, nth, post, type TimedAnswer } from "./cluster_pods.ts";
import { openStream } from "./stream.ts";

/** Each question so often, all at once. */
const TIMES = 8;
/** What another pod's answer is waited for. */
const WAIT_MS = 2000;
/** How far the middles of two times may lie apart, on a machine that does much else. */
const TOLERANCE_MS = 250;

/**
 * Checks that an owner's subscription works from each pod that does not hold the connection.
 *
 * @param cluster The cluster.
 */
export async function checkWrongPod({ pods }: Cluster): Promise<void> {
  for (const [holder, pod] of pods.entries()) {
    const [next, last] = [nth(pods, holder + 1), nth(pods, holder + 2)];
    const topic = `call:${holder}`;
    // The past of the topic, which another pod has published.
    const past = ["one", "two", "three"].map((word) => `${holder} ${word}`);
    const stream = await openStream(`${pod.url}/events?lag=1&topic=item:${holder}`);
    try {
      const { connection, head } = await stream.hello();
      for (const data of past) await next.publish({ topic, name: "n", data });
      // Some other topic's word, to know that the three have come to the pod that holds it.
      await next.publish({ topic: `item:${holder}`, name: "mark", data: "past" });
      await stream.until("the mark", ({ audit }) => audit.offset >= Number(head) + 4);

      const { answer } = await post(last, "/subscribe", { connection, topic, history: true });
      assertEquals(answer.head.status, 200, answer.text);
      const { verdict, head: since } = JSON.parse(answer.text);
      assertEquals(verdict, "fresh");
      // The head is that of the pod that holds the connection.
      assertEquals(since, String(Number(head) + 4));
      const datas = (): string[] =>
        stream.blocks.flatMap((block) =>
          block.kind === "event" && block.name === "n" ? [block.data] : []
        );
      await stream.until("the history", () => datas().length >= past.length);
      assertEquals(datas(), past);

      const live = pods.map((_, p) => `${holder} live ${p}`);
      for (const [p, one] of pods.entries()) {
        await one.publish({ topic, name: "n", data: nth(live, p) });
        await stream.until(`live from pod ${p + 1}`, () => datas().length > past.length + p);
      }
      assertEquals(datas(), [...past, ...live]);

      const gone = await post(next, "/unsubscribe", { connection, topic });
      assertEquals(gone.answer.head.status, 204);
      await last.publish({ topic, name: "n", data: "to nobody" });
      await last.publish({ topic: `item:${holder}`, name: "mark", data: "end" });
      await stream.until("the end", ({ durable }) => durable.at(-1)?.data === "end");
      assertEquals(datas(), [...past, ...live]);
    } finally {
      await stream.close();
    }
  }
}

/**
 * Checks that a stranger's connection, one that never was, and what is asked of either pod, look the
 * same.
 *
 * @param cluster The cluster.
 * @returns The middle of each kind's times, in milliseconds.
 */
export async function checkStranger({ pods }: Cluster): Promise<Record<string, number>> {
  const [holder, other] = [nth(pods, 0), nth(pods, 1)];
  const stream = await openStream(`${holder.url}/events?lag=1&topic=own`);
  try {
    const { connection } = await stream.hello();
    const unknown = connection.replace(/./g, (digit) => digit === "0" ? "1" : "0");
    assert(unknown !== connection && unknown.length === connection.length);
    const topic = "secret:1";
    const kinds = {
      "a stranger's, from the pod that holds it": [holder, connection, "mallory"],
      "a stranger's, from another pod": [other, connection, "mallory"],
      "an unknown one, from the pod that holds the other": [holder, unknown, "mallory"],
      "an unknown one, from another pod": [other, unknown, "fixture"],
    } as const;
    const answers = new Map<string, TimedAnswer[]>();
    const ending = post(other, "/unsubscribe", { connection, topic: "own", user: "mallory" });
    await Promise.all(
      Array.from({ length: TIMES }, () => Object.entries(kinds)).flat().map(
        async ([kind, [pod, id, user]]) => {
          const timed = await post(pod, "/subscribe", {
            connection: id,
            topic,
            user,
            history: true,
          });
          answers.set(kind, [...answers.get(kind) ?? [], timed]);
        },
      ),
    );
    const all = [...answers.values()].flat();
    assertEquals(all.length, TIMES * 4);
    const [first] = all;
    assert(first !== undefined);
    assertEquals(first.answer.head.status, 404);
    // The runtimes write other headers of their own; those of one pod do not differ.
    for (const [kind, timed] of answers) {
      const pod = kind.endsWith("from another pod") ? "from another pod" : "from the pod";
      const same = [...answers].find(([name]) => name.includes(pod))?.[1][0];
      assert(same !== undefined);
      for (const one of timed) {
        assertEquals(looksOf(one), looksOf(same), kind);
        assertEquals(one.answer.text, first.answer.text, kind);
        assertGreater(one.tookMs, WAIT_MS - 20, kind);
      }
    }
    const middles = [...answers].map(([kind, timed]) =>
      [kind, Math.round(median(timed.map(({ tookMs }) => tookMs)))] as const
    );
    const times = middles.map(([, ms]) => ms);
    assertLess(Math.max(...times) - Math.min(...times), TOLERANCE_MS, JSON.stringify(middles));

    // Nor has any of them done anything.
    assertEquals((await ending).answer.head.status, 404);
    await other.publish({ topic, name: "n", data: "secret" });
    await other.publish({ topic: "own", name: "n", data: "own" });
    await stream.until("its own event", ({ durable }) => durable.at(-1)?.data === "own");
    assertEquals(stream.durable.map(({ data }) => data), ["own"]);
    assertEquals(stream.blocks.some(({ raw }) => raw.includes("sse:history")), false);
    return Object.fromEntries(middles);
  } finally {
    await stream.close();
  }
}
