/**
 * Listening: what a confirmation is worth, and how an attempt is given up.
 *
 * @module
 */
import { type Draft, numbered, Recorder, series } from "./bench.ts";
import { expect, expectMessages, thrownBy } from "./expect.ts";

/** How often a confirmation is put to the test. */
const TIMES = 25;

export const listeningCases: readonly Draft[] = [
  {
    name: "what another pod sends in the turn of the confirmation arrives, every time",
    async body(bench) {
      const audience = await bench.audience();
      const sender = await bench.connect(audience);
      for (let time = 0; time < TIMES; time++) {
        const { relay, ear } = await bench.pod(audience);
        sender.send(numbered(1, time));
        await ear.heard(1);
        expectMessages(ear.messages, [numbered(1, time)], "the first message");
        await bench.within(relay.close(), "a relay to close");
      }
    },
  },
  {
    name: "an attempt with a signal that has aborted rejects with its reason, and nothing is heard",
    async body(bench) {
      const audience = await bench.audience();
      const { relay, ear } = await bench.pod(audience);
      const given = new Recorder(bench.patienceMs);
      const signal = AbortSignal.abort(new RangeError("given up"));
      const thrown = await thrownBy(
        () => bench.within(relay.listen(given, { signal }), "an attempt to settle"),
        "listening with a signal that has aborted",
      );
      expect(thrown === signal.reason, `the signal's reason, it is ${thrown}`);
      (await bench.connect(audience)).send(numbered(1, 1));
      await ear.heard(1);
      expect(given.messages.length === 0, "nothing to be heard by who was not confirmed");
    },
  },
  {
    name: "a signal that aborts after the confirmation changes nothing",
    async body(bench) {
      const audience = await bench.audience();
      const relay = await bench.connect(audience);
      const recorder = new Recorder(bench.patienceMs);
      const attempt = new AbortController();
      const { signal } = attempt;
      await bench.within(relay.listen(recorder, { signal }), "a subscription to be confirmed");
      attempt.abort();
      const sent = series(1, 5);
      const sender = await bench.connect(audience);
      for (const message of sent) sender.send(message);
      await recorder.heard(5);
      expectMessages(recorder.messages, sent, "what is heard after the abort");
    },
  },
  {
    name: "an attempt while the broker is away waits, and is confirmed when it is back",
    hooks: ["interrupt"],
    async body(bench) {
      const audience = await bench.audience();
      const { relay, ear } = await bench.pod(audience);
      await audience.interrupt?.();
      let settled = false;
      const late = bench.listen(relay).finally(() => settled = true);
      // A rejection is looked at below; until then it must not end the program.
      late.catch(() => {});
      await new Promise<void>((resolve) => setTimeout(resolve, 100));
      expect(!settled, "an attempt to wait for a broker that is away");
      await bench.within(audience.restore?.() ?? Promise.resolve(), "the broker to come back");
      const recorder = await late;
      await ear.told(1);
      relay.send(numbered(1, 1));
      await recorder.heard(1);
      expectMessages(recorder.messages, [numbered(1, 1)], "the first message after it");
      expect(recorder.interruptions === 0, "no interruption for who was not confirmed before it");
    },
  },
  {
    name: "an attempt is given up while the broker is away, with the signal's reason",
    hooks: ["interrupt"],
    async body(bench) {
      const audience = await bench.audience();
      const { relay, ear } = await bench.pod(audience);
      await audience.interrupt?.();
      const given = new Recorder(bench.patienceMs);
      const attempt = new AbortController();
      const listening = relay.listen(given, { signal: attempt.signal });
      const reason = new RangeError("given up");
      setTimeout(() => attempt.abort(reason), 20);
      const thrown = await thrownBy(
        () => bench.within(listening, "an attempt that is given up to settle"),
        "an attempt that is given up",
      );
      expect(thrown === reason, `the signal's reason, it is ${thrown}`);
      await bench.within(audience.restore?.() ?? Promise.resolve(), "the broker to come back");
      await ear.told(1);
      relay.send(numbered(1, 1));
      await ear.heard(1);
      expect(given.messages.length === 0, "nothing to be heard by who had given up");
    },
  },
];
