import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  decodeCommand,
  decodeReply,
  encodeCommand,
  encodeReply,
} from "../../../src/cluster/relay/command_codec.ts";
import type { CommandReply, ConnectionCommand } from "../../../src/cluster/types.ts";
import { MAX_COMMAND_BYTES } from "../../../src/relay/envelope.ts";
import { VERDICTS } from "../../../src/wire/hello.ts";
import { MAX_OFFSET } from "../../../src/wire/timing.ts";
import { test } from "../../support/test.ts";

const RUNS = { numRuns: 500, seed: 20_261_201 };
const plain = { noNullPrototype: true };
const connection = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const topic = fc.stringMatching(/^[a-z:"\\é漢]{1,256}$/);
const user = fc.string({ unit: "binary", minLength: 1, maxLength: 128 });
const history = fc.oneof(
  fc.constant(true as const),
  fc.record({ last: fc.nat() }, plain),
  fc.record({ sinceMs: fc.nat() }, plain),
);
const after = fc.constantFrom("", "00c0ffee00c0ffee:7", `ffffffffffffffff:${MAX_OFFSET}`);
const subscribe = fc.record(
  { do: fc.constant("subscribe" as const), connection, topic, user, history, after },
  { noNullPrototype: true, requiredKeys: ["do", "connection", "topic", "user"] },
);
const commands: fc.Arbitrary<ConnectionCommand> = fc.oneof(
  subscribe,
  fc.record({ do: fc.constant("unsubscribe" as const), connection, topic, user }, plain),
  fc.record({ do: fc.constant("disconnect" as const), user }, plain),
);
const replies: fc.Arbitrary<CommandReply> = fc.oneof(
  fc.record({
    kind: fc.constant("subscribed" as const),
    verdict: fc.constantFrom(...VERDICTS),
    head: fc.constantFrom(0, 7, MAX_OFFSET),
  }, plain),
  fc.record(
    { kind: fc.constant("unsubscribed" as const), listened: fc.boolean() },
    plain,
  ),
  fc.record({
    kind: fc.constant("refused" as const),
    error: fc.constantFrom("topic", "journal", "type", "failed"),
    reason: fc.stringMatching(/^[ -~]{0,100}$/),
  }, plain),
);

test("a command arrives as it was given, and fits", () => {
  fc.assert(
    fc.property(commands, (command) => {
      const bytes = encodeCommand(command);
      if (bytes === null) throw new Error("It was not written");
      assertEquals(decodeCommand(bytes), command);
      assertEquals(bytes.length <= MAX_COMMAND_BYTES, true);
    }),
    RUNS,
  );
});

test("a command of anything is written as one that is read, or not at all", () => {
  const any = fc.oneof(fc.string({ unit: "binary", maxLength: 300 }), fc.anything());
  const wild = fc.record({
    ...{ do: fc.constantFrom("subscribe", "unsubscribe", "disconnect"), connection: any },
    ...{ topic: any, user: any, history: any, after: fc.string() },
  });
  fc.assert(
    fc.property(wild, (fields) => {
      const bytes = encodeCommand(fields as ConnectionCommand);
      if (bytes !== null) assertEquals(decodeCommand(bytes)?.user, fields.user);
    }),
    RUNS,
  );
});

test("an answer arrives as it was given, and its reason bounded and clean", () => {
  fc.assert(
    fc.property(replies, (reply) => assertEquals(decodeReply(encodeReply(reply)), reply)),
    RUNS,
  );
  const reason = `a\u001b[31m${"x".repeat(9999)}`;
  const reply = decodeReply(encodeReply({ kind: "refused", error: "type", reason }));
  assertEquals(reply, { kind: "refused", error: "type", reason: `a[31m${"x".repeat(507)}` });
});

test("no bytes make the readers throw", () => {
  const json = fc.json().map((text) => new TextEncoder().encode(text));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), json), (bytes) => {
      assertEquals([decodeCommand(bytes), decodeReply(bytes)], [null, null]);
    }),
    RUNS,
  );
});
