/**
 * Interruptions: told once each, and over when they are told to be.
 *
 * @module
 */
import { type Bench, type Draft, numbered, type Pod } from "./bench.ts";
import { expect, expectMessages } from "./expect.ts";
import type { RelayAudience } from "./subject.ts";

/** How many pods go through an interruption together. */
const PODS = 3;

export const interruptionCases: readonly Draft[] = [
  {
    name: "an interruption is told to each listener exactly once, and what is sent then arrives",
    hooks: ["interrupt"],
    async body(bench) {
      const audience = await bench.audience();
      const pods = await bench.pods(audience, PODS);
      await interrupted(bench, audience, pods, 1);
      await allHearAll(pods, 1);
      expectTold(pods, 1);
    },
  },
  {
    name: "of several interruptions each is told once, and after each what is sent arrives",
    hooks: ["interrupt"],
    async body(bench) {
      const audience = await bench.audience();
      const pods = await bench.pods(audience, PODS);
      for (let time = 1; time <= 3; time++) {
        await interrupted(bench, audience, pods, time);
        await allHearAll(pods, time);
        expectTold(pods, time);
      }
    },
  },
  {
    name: "what is sent while the broker is away is kept or lost, but harms nobody",
    hooks: ["interrupt"],
    async body(bench) {
      const audience = await bench.audience();
      const pods = await bench.pods(audience, PODS);
      await interrupted(bench, audience, pods, 1, () => {
        for (const [index, { relay }] of pods.entries()) {
          for (let n = 0; n < 50; n++) relay.send(numbered(100 + index, n, 1000));
        }
      });
      await allHearAll(pods, 1);
      expectTold(pods, 1);
    },
  },
  {
    name: "a subscription that is closed while the broker is away is told nothing afterwards",
    hooks: ["interrupt"],
    async body(bench) {
      const audience = await bench.audience();
      const [leaver, ...pods] = await bench.pods(audience, PODS);
      expect(leaver !== undefined, "a pod");
      await interrupted(bench, audience, pods, 1, async () => {
        const { subscription } = leaver.ear;
        expect(subscription !== null, "a subscription");
        await bench.within(
          subscription.close(),
          "a subscription to close while the broker is away",
        );
      });
      await allHearAll(pods, 1);
      expect(leaver.ear.interruptions === 0, "no interruption for who has stopped listening");
      expect(leaver.ear.messages.length === 0, "no message for who has stopped listening");
    },
  },
];

/** Breaks all connections and waits until each pod has been told that it is back. */
async function interrupted(
  bench: Bench,
  audience: RelayAudience,
  pods: readonly Pod[],
  time: number,
  meanwhile: () => void | Promise<void> = () => {},
): Promise<void> {
  await bench.within(audience.interrupt?.() ?? Promise.resolve(), "the broker to go away");
  await meanwhile();
  expectTold(pods, time - 1);
  await bench.within(audience.restore?.() ?? Promise.resolve(), "the broker to come back");
  await Promise.all(pods.map(({ ear }) => ear.told(time)));
}

/** Each sends one message more, and hears that of every other one exactly once. */
async function allHearAll(pods: readonly Pod[], n: number): Promise<void> {
  for (const [index, { relay }] of pods.entries()) relay.send(numbered(index, n));
  for (const [who, { ear }] of pods.entries()) {
    for (const [index] of pods.entries()) {
      if (index === who) continue;
      const wanted = numbered(index, n);
      const copies = (): readonly Uint8Array[] =>
        ear.messages.filter((message) => message.join() === wanted.join());
      while (copies().length === 0) await ear.heard(ear.messages.length + 1);
      expectMessages(copies(), [wanted], "what is sent after an interruption");
    }
  }
}

function expectTold(pods: readonly Pod[], times: number): void {
  for (const { ear } of pods) {
    expect(
      ear.interruptions === times,
      `${times} interruptions to have been told, it were ${ear.interruptions}`,
    );
  }
}
