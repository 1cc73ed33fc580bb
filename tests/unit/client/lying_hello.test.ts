/** What a server may say instead of its hello, over real sockets and the runtime's own `fetch`. */
import { assertEquals } from "@std/assert";
import { HALF_CLOSE, RESET, serving, STREAM } from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { at, EPOCH, FOREIGN, frame, greeting, only, reaches, watch } from "./edges.ts";
import { passing } from "./lying.ts";

const MIB = 1_048_576;

/** A hello of which one field is another's, or with `undefined` not there. */
function hello(fields: Readonly<Record<string, unknown>>): string {
  const sound = {
    wire: 1,
    epoch: EPOCH,
    floor: "0",
    head: "9",
    resumed: true,
    verdict: "resumed",
    keepalive_ms: 15_000,
    keepalive_event: "sse:keepalive",
  };
  return `event: sse:hello\ndata: ${JSON.stringify({ ...sound, ...fields })}\n\n`;
}

const missing = { kind: "connect_failed", reason: "hello_missing", status: 200 } as const;
const invalid = { kind: "connect_failed", reason: "hello_invalid", status: 200 } as const;

passing({
  name: "sends a frame before its hello",
  answer: [STREAM, frame(9, "too early"), greeting({ verdict: "resumed", head: 9 })],
  says: missing,
});
passing({
  name: "sends a frame of its own before its hello",
  answer: [STREAM, 'event: sse:reset\ndata: {"reason":"slow"}\n\n', greeting()],
  says: missing,
});
passing({ name: "ends before its hello", answer: [STREAM, HALF_CLOSE], says: missing });
passing({
  name: "ends within its hello",
  answer: [STREAM, greeting({ verdict: "resumed" }).subarray(0, -1), HALF_CLOSE],
  says: missing,
});
passing({
  name: "resets the connection before its hello",
  answer: [STREAM, "retry: 1500\n", RESET],
  // Where the reset overtakes the head, the request itself has failed.
  says: { kind: "connect_failed" },
});
passing({
  name: "says nothing after the head",
  answer: [STREAM],
  silentMs: 10_000,
  says: { kind: "connect_failed", reason: "hello_timeout", status: null },
});
passing({
  name: "says anything but a hello",
  answer: [STREAM, `: a comment\n\nretry: 1500\n\nid: ${at(9)}\n\nevent: sse:hello\n\ndata`],
  silentMs: 10_000,
  says: { kind: "connect_failed", reason: "hello_timeout", status: null },
});
passing({
  name: "greets with a native event's name",
  answer: [STREAM, hello({}).replace("sse:hello", "message")],
  says: missing,
});
passing({
  name: "sends a hello of 2 MiB",
  answer: [STREAM, hello({ padding: "x".repeat(2 * MIB) })],
  says: { kind: "connect_failed", reason: "too_large", status: 200 },
});
passing({
  name: "sends an endless line before its hello",
  answer: [STREAM, ...Array.from({ length: 48 }, () => "x".repeat(MIB / 16))],
  says: { kind: "connect_failed", reason: "too_large", status: 200 },
});

for (const text of ["", "{", "null", "[]", '"hello"', "7", '{"wire":1', "\u0000"]) {
  passing({
    name: `greets with ${JSON.stringify(text)}`,
    answer: [STREAM, `event: sse:hello\ndata: ${text}\n\n`],
    says: invalid,
  });
}

/** Each field of a hello, and what it must not be. */
const FIELDS: Readonly<Record<string, readonly unknown[]>> = {
  wire: [undefined, null, "1", 1.5, 0, -1, true],
  epoch: [undefined, "", "00C0FFEE00C0FFEE", "00c0ffee", `${EPOCH}0`, 12],
  floor: [undefined, 3, "03", "-1", "1e3", "9007199254740992", ""],
  head: [undefined, 3, "+3", " 3", "9007199254740992", "99999999999999999"],
  resumed: [undefined, 1, "true", null],
  verdict: [undefined, 3, null],
  keepalive_ms: [undefined, 0, -1, 1.5, "15000", 2 ** 53],
  keepalive_event: [undefined, null, 3],
  connection: [3, null, {}],
  repair: ["yes", 1, null],
  revalidate_spread_ms: [-1, 1.5, "3", null],
  version_epoch: ["", "x", 3, null],
};

for (const [name, values] of Object.entries(FIELDS)) {
  test(`a hello whose ${name} is missing or out of bounds is a failed attempt`, async () => {
    await serving(
      ({ number }) => [STREAM, hello({ [name]: values[number - 1] })],
      async (server) => {
        const watched = watch({ url: `${server.origin}/` });
        const { stream, clock, records } = watched;
        stream.start();
        for (const [i, value] of values.entries()) {
          await reaches(watched, "backoff");
          const failures = only(records, "connect_failed");
          const { reason, attempt, detail } = failures[i] ?? {};
          const shown = `${name}: ${JSON.stringify(value)}: ${detail}`;
          assertEquals([failures.length, reason, attempt], [i + 1, "hello_invalid", i + 1], shown);
          assertEquals(detail?.includes(name), true, shown);
          while (stream.state() === "backoff" && i < values.length - 1) clock.skip();
        }
        stream.stop();
        await server.empty();
        assertEquals([only(records, "hello"), stream.cursor()], [[], ""]);
      },
    );
  });
}

passing({
  name: "speaks wire 2",
  answer: [STREAM, hello({ wire: 2 }), frame(9, "of wire 2")],
  says: { kind: "connect_failed", reason: "wire_unsupported", status: 200 },
});

test("a hello of another revision is told with its number, and nothing behind it is read", async () => {
  await serving(
    () => [STREAM, hello({ wire: 2, epoch: FOREIGN }), frame(9, "x")],
    async (server) => {
      const watched = watch({ url: `${server.origin}/` });
      const { stream, records, frames } = watched;
      stream.start();
      await reaches(watched, "backoff");
      assertEquals(only(records, "wire_unsupported"), [{ kind: "wire_unsupported", wire: 2 }]);
      assertEquals([frames, only(records, "hello"), stream.cursor()], [[], [], ""]);
      stream.stop();
      await server.empty();
    },
  );
});
