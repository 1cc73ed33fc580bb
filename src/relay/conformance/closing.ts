/**
 * Closing, of a subscription and of a relay.
 *
 * @module
 */
import { type Draft, numbered, Recorder } from "./bench.ts";
import { expect, expectFault, expectMessages } from "./expect.ts";

export const closingCases: readonly Draft[] = [
  {
    name: "a subscription that was closed hears nothing any more; others of the same pod do",
    async body(bench) {
      const audience = await bench.audience();
      const { relay, ear } = await bench.pod(audience);
      const other = await bench.listen(relay);
      const sender = await bench.connect(audience);
      sender.send(numbered(1, 1));
      await Promise.all([ear.heard(1), other.heard(1)]);
      const { subscription } = ear;
      expect(subscription !== null, "a subscription");
      await bench.within(
        Promise.all([subscription.close(), subscription.close()]),
        "a subscription to close twice at once",
      );
      sender.send(numbered(1, 2));
      await other.heard(2);
      expectMessages(ear.messages, [numbered(1, 1)], "what was heard before the end");
      await bench.within(subscription.close(), "a subscription to close again");
      sender.send(numbered(1, 3));
      await other.heard(3);
      expectMessages(other.messages, [1, 2, 3].map((n) => numbered(1, n)), "what the other hears");
    },
  },
  {
    name: "a pod that listens again after it has stopped hears what is sent from then on",
    async body(bench) {
      const audience = await bench.audience();
      const { relay, ear } = await bench.pod(audience);
      const sender = await bench.connect(audience);
      await bench.within(ear.subscription?.close() ?? Promise.resolve(), "a subscription to close");
      const again = await bench.listen(relay);
      sender.send(numbered(1, 1));
      await again.heard(1);
      expectMessages(again.messages, [numbered(1, 1)], "what is heard the second time");
      expect(ear.messages.length === 0, "nothing to be heard by the first listener");
    },
  },
  {
    name: "a closed relay neither sends nor listens, and may be closed again, and twice at once",
    async body(bench) {
      const audience = await bench.audience();
      const { relay, ear } = await bench.pod(audience);
      const { relay: other, ear: witness } = await bench.pod(audience);
      await bench.within(Promise.all([relay.close(), relay.close()]), "a relay to close twice");
      await expectFault(() => relay.send(numbered(1, 1)), "closed", "sending on a closed relay");
      const recorder = new Recorder(bench.patienceMs);
      const listen = (): Promise<unknown> =>
        bench.within(relay.listen(recorder), "listening on a closed relay to settle");
      await expectFault(listen, "closed", "listening on a closed relay");
      await bench.within(relay.close(), "a relay to close again");
      other.send(numbered(2, 1));
      await witness.heard(1);
      expectMessages(witness.messages, [numbered(2, 1)], "what another pod hears");
      expect(ear.messages.length + recorder.messages.length === 0, "no message on a closed relay");
      await bench.within(
        ear.subscription?.close() ?? Promise.resolve(),
        "a subscription of a closed relay to close",
      );
    },
  },
  {
    name: "what was sent before a pod closed arrives; its closing ends nobody else",
    async body(bench) {
      const audience = await bench.audience();
      const leaver = await bench.connect(audience);
      const [one, other] = await bench.pods(audience, 2);
      expect(one !== undefined && other !== undefined, "two pods");
      leaver.send(numbered(1, 1));
      await bench.within(leaver.close(), "a relay to close");
      other.relay.send(numbered(2, 1));
      await one.ear.heard(2);
      const from = (sender: number): Uint8Array[] =>
        one.ear.messages.filter(([who]) => who === sender);
      expectMessages(from(1), [numbered(1, 1)], "the last words of a pod that closed");
      expectMessages(from(2), [numbered(2, 1)], "what the others say after it");
    },
  },
  {
    name: "an attempt that is under way when its relay is closed is rejected as closed",
    hooks: ["interrupt"],
    async body(bench) {
      const audience = await bench.audience();
      const { relay } = await bench.pod(audience);
      await audience.interrupt?.();
      const listening = relay.listen(new Recorder(bench.patienceMs));
      const settled = bench.within(listening, "an attempt to settle");
      const expected = expectFault(() => settled, "closed", "an attempt on a relay that is closed");
      await bench.within(relay.close(), "a relay to close while the broker is away");
      await expected;
      await bench.within(audience.restore?.() ?? Promise.resolve(), "the broker to come back");
    },
  },
];
