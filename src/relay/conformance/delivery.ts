/**
 * Delivery: to whom, in which order, how often.
 *
 * @module
 */
import { type Draft, numbered, series } from "./bench.ts";
import { expect, expectMessages } from "./expect.ts";

/** How many messages are sent in a row. */
const MANY = 500;

export const deliveryCases: readonly Draft[] = [
  {
    name: "what one pod sends in a row arrives in its order, each message exactly once",
    async body(bench) {
      const audience = await bench.audience();
      const sender = await bench.connect(audience);
      const { ear } = await bench.pod(audience);
      const sent = series(1, MANY);
      for (const message of sent) sender.send(message);
      await ear.heard(MANY);
      // What would come twice comes before this one.
      const last = numbered(2, 0);
      sender.send(last);
      await ear.heard(MANY + 1);
      expectMessages(ear.messages, [...sent, last], "what was sent in a row");
      expect(ear.interruptions === 0, "no interruption to be told, for there was none");
    },
  },
  {
    name: "what several pods send at once arrives, each one's in its order",
    async body(bench) {
      const audience = await bench.audience();
      const { ear } = await bench.pod(audience);
      const senders = [1, 2, 3];
      const relays = await Promise.all(senders.map(() => bench.connect(audience)));
      for (let n = 0; n < 100; n++) {
        for (const [index, relay] of relays.entries()) relay.send(numbered(index + 1, n));
        // Some in one turn, some in another.
        if (n % 10 === 0) await new Promise<void>((resolve) => setTimeout(resolve, 0));
      }
      await ear.heard(300);
      for (const sender of senders) {
        expectMessages(
          ear.messages.filter(([who]) => who === sender),
          Array.from({ length: 100 }, (_, n) => numbered(sender, n)),
          `the messages of sender ${sender}`,
        );
      }
    },
  },
  {
    name: "every pod that listens gets every message, and two listeners of one pod each do",
    async body(bench) {
      const audience = await bench.audience();
      const [one, other] = await bench.pods(audience, 2);
      const sender = await bench.connect(audience);
      expect(one !== undefined && other !== undefined, "two pods");
      const ears = [one.ear, other.ear, await bench.listen(other.relay)];
      const sent = series(1, 20);
      for (const message of sent) sender.send(message);
      for (const ear of ears) {
        await ear.heard(sent.length);
        expectMessages(ear.messages, sent, "what each of three listeners hears");
      }
    },
  },
  {
    name: "what one listener does to its bytes, neither another one nor the sender sees",
    async body(bench) {
      const audience = await bench.audience();
      const { relay, ear } = await bench.pod(audience);
      const second = await bench.listen(relay);
      const sender = await bench.connect(audience);
      for (const recorder of [ear, second]) {
        const { message: hear } = recorder;
        recorder.message = (message): void => {
          hear.call(recorder, message.slice());
          message.fill(0);
        };
      }
      const sent = [numbered(1, 7, 100), numbered(1, 8, 100)];
      for (const message of sent) sender.send(message);
      for (const recorder of [ear, second]) {
        await recorder.heard(2);
        expectMessages(recorder.messages, [numbered(1, 7, 100), numbered(1, 8, 100)], "the bytes");
      }
      expectMessages(sent, [numbered(1, 7, 100), numbered(1, 8, 100)], "the sender's own bytes");
    },
  },
  {
    name: "a message arrives in a later turn of the program, never within send itself",
    async body(bench) {
      const { relay, ear } = await bench.pod(await bench.audience());
      const second = await bench.listen(relay);
      relay.send(numbered(1, 1));
      expect(ear.messages.length + second.messages.length === 0, "nothing to be heard within send");
    },
  },
  {
    name: "another audience hears nothing",
    async body(bench) {
      const [mine, theirs] = [await bench.audience(), await bench.audience()];
      const [sender, stranger] = [await bench.connect(mine), await bench.connect(theirs)];
      const [here, there] = [(await bench.pod(mine)).ear, (await bench.pod(theirs)).ear];
      const [own, foreign] = [series(1, 20), series(2, 20)];
      for (const message of own) sender.send(message);
      for (const message of foreign) stranger.send(message);
      await here.heard(20);
      await there.heard(20);
      expectMessages(here.messages, own, "one audience's messages");
      expectMessages(there.messages, foreign, "the other audience's messages");
    },
  },
];
