/**
 * Content: bytes arrive as they were sent, and what is too large is not sent.
 *
 * @module
 */
import { type Bench, type Draft, numbered } from "./bench.ts";
import { expect, expectFault, expectMessages } from "./expect.ts";

const MEBIBYTE = 1024 * 1024;

/** What a relay that thinks in text, in lines or in numbers would change. */
const AWKWARD: readonly (readonly number[])[] = [
  [0xef, 0xbb, 0xbf, 0x41],
  [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf],
  [0xff, 0xfe, 0x00],
  [0x00],
  [0x00, 0x00, 0x41, 0x00],
  [0x0d, 0x0a, 0x0d, 0x0a],
  [0x0a],
  [0xc3, 0x28],
  [0xed, 0xa0, 0x80],
  [0xf0, 0x9f, 0x98, 0x80],
  [0xf0, 0x9f, 0x98],
  [0xe2, 0x80, 0xa8, 0xe2, 0x80, 0xa9],
  [0x31, 0x30],
  [0x22, 0x5c, 0x22],
];

export const contentCases: readonly Draft[] = [
  {
    name:
      "bytes arrive as they were: each alone, all together, and those that text would not survive",
    async body(bench) {
      const each = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
      const all = Uint8Array.from({ length: 512 }, (_, index) => index & 255);
      await sameBytes(bench, [...each, all, all.slice().reverse(), ...AWKWARD.map(toBytes)]);
    },
  },
  {
    name: "a message without a byte arrives, too",
    body: (bench) => sameBytes(bench, [new Uint8Array(), Uint8Array.of(1), new Uint8Array()]),
  },
  {
    name: "a message of 1 MiB arrives whole, or as large a one as there may be",
    async body(bench) {
      const { maxBytes } = await bench.connect(await bench.audience());
      const large = new Uint8Array(Math.min(MEBIBYTE, maxBytes));
      // Without a period that a buffer's size might have.
      for (let i = 0, value = 1; i < large.length; i++) {
        value = (value * 16_807) % 2_147_483_647;
        large[i] = value;
      }
      await sameBytes(bench, [numbered(1, 0), large, numbered(1, 1)]);
    },
  },
  {
    name: "of a message that lies in a larger buffer, its own bytes arrive",
    async body(bench) {
      const buffer = Uint8Array.from({ length: 1000 }, (_, index) => index & 255);
      await sameBytes(bench, [
        buffer.subarray(10, 20),
        buffer.subarray(990),
        buffer.subarray(5, 5),
      ]);
    },
  },
  {
    name: "a message above maxBytes is refused as too large, and nobody hears it",
    async body(bench) {
      const audience = await bench.audience();
      const relay = await bench.connect(audience);
      const { ear } = await bench.pod(audience);
      const { maxBytes } = relay;
      expect(maxBytes >= 1, `a bound of at least one byte, it is ${maxBytes}`);
      if (maxBytes === Infinity) return;
      const large = new Uint8Array(maxBytes + 1);
      await expectFault(() => relay.send(large), "too_large", "sending a message above the bound");
      relay.send(numbered(1, 1));
      await ear.heard(1);
      expectMessages(ear.messages, [numbered(1, 1)], "what comes after the one that was refused");
    },
  },
];

function toBytes(bytes: readonly number[]): Uint8Array {
  return Uint8Array.from(bytes);
}

async function sameBytes(bench: Bench, messages: readonly Uint8Array[]): Promise<void> {
  const audience = await bench.audience();
  const sender = await bench.connect(audience);
  const { ear } = await bench.pod(audience);
  const before = messages.map((message) => Uint8Array.from(message));
  for (const message of messages) sender.send(message);
  await ear.heard(messages.length);
  expectMessages(ear.messages, before, "what was sent");
}
