/** How a server may break a stream after its hello, over real sockets and the runtime's own `fetch`. */
import { assertEquals } from "@std/assert";
import { resetFrame } from "../../../src/wire/control.ts";
import { eventually } from "../../support/poll.ts";
import { HALF_CLOSE, head, RESET, serving, STREAM } from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { at, FOREIGN, frame, gate, greeting, only, reaches, watch } from "./edges.ts";
import { passing } from "./lying.ts";

const MIB = 1_048_576;
const RESUMED = [STREAM, greeting({ verdict: "resumed", head: 5 })];

passing({
  name: "greets twice",
  answer: [...RESUMED, greeting({ verdict: "resumed", head: 5 }), frame(6, "after it")],
  says: { kind: "disconnected", reason: "second_hello" },
});
passing({
  name: "greets again as another",
  answer: [...RESUMED, greeting({ epoch: FOREIGN, head: 99 })],
  says: { kind: "disconnected", reason: "second_hello" },
});
passing({
  name: "greets again with nonsense",
  answer: [...RESUMED, "event: sse:hello\ndata: {\n\n"],
  says: { kind: "disconnected", reason: "second_hello" },
});
passing({
  name: "sends a frame of 2 MiB",
  answer: [...RESUMED, `id: ${at(6)}\ndata: `, "x".repeat(2 * MIB), "\n\n"],
  says: { kind: "disconnected", reason: "too_large" },
});
passing({
  name: "sends a frame of a million lines",
  answer: [...RESUMED, `id: ${at(6)}\n`, "data:\n".repeat(MIB + 1), "\n"],
  says: { kind: "disconnected", reason: "too_large" },
});
passing({
  name: "sends an endless line",
  answer: [...RESUMED, ...Array.from({ length: 48 }, () => "x".repeat(MIB / 16))],
  says: { kind: "disconnected", reason: "too_large" },
});
passing({
  name: "sends an endless comment",
  answer: [...RESUMED, ":", ...Array.from({ length: 48 }, () => " ".repeat(MIB / 16))],
  says: { kind: "disconnected", reason: "too_large" },
});
passing({
  name: "ends within a frame's line",
  answer: [...RESUMED, `id: ${at(6)}\ndata: ha`, HALF_CLOSE],
  says: { kind: "disconnected", reason: "ended" },
});
passing({
  name: "ends before a frame's blank line",
  answer: [...RESUMED, frame(6, "almost").subarray(0, -1), HALF_CLOSE],
  says: { kind: "disconnected", reason: "ended" },
});
passing({
  name: "ends its hello's connection at once",
  answer: [...RESUMED, HALF_CLOSE],
  says: { kind: "disconnected", reason: "ended" },
});
passing({
  name: "asks to be asked again at once, and ends",
  answer: [STREAM, greeting({ verdict: "resumed", head: 5 }, 1), HALF_CLOSE],
  says: { kind: "disconnected", reason: "ended" },
});
passing({
  name: "says that it shuts down, and ends",
  answer: [...RESUMED, resetFrame("shutdown"), HALF_CLOSE],
  says: { kind: "disconnected", reason: "ended" },
});

/** How a body that is told in advance may break off: its head's line, the hello around, the rest. */
const BODIES: readonly (readonly [line: string, before: string, after: string])[] = [
  ["Content-Length: 9999", "", ""],
  ...["5\r\ndata:\r\n", "5\r\ndat", "zz\r\n", ""].map((rest) =>
    [
      "Transfer-Encoding: chunked",
      `${greeting({ head: 5 }).length.toString(16)}\r\n`,
      rest,
    ] as const
  ),
];

for (const [line, before, after] of BODIES) {
  test(`a body of ${line} that breaks off after ${JSON.stringify(after)} is an end like any other`, async () => {
    const { opened, open } = gate();
    await serving(() => [
      head(200, "Content-Type: text/event-stream", line),
      before,
      greeting({ head: 5 }),
      before === "" ? "" : "\r\n",
      // What has not been read when a body fails is lost on some platforms.
      opened,
      after,
      HALF_CLOSE,
    ], async (server) => {
      const watched = watch({ url: `${server.origin}/` });
      const { stream, records } = watched;
      stream.start();
      await reaches(watched, "open");
      open();
      await reaches(watched, "backoff");
      assertEquals(only(records, "disconnected").map(({ reason }) => reason), ["ended"]);
      assertEquals([stream.cursor(), only(records, "connect_failed")], [at(5), []]);
      stream.stop();
      await server.empty();
    });
  });
}

test("a reset in the middle of a body is an end like any other: the cursor stays", async () => {
  const { opened, open } = gate();
  await serving(
    ({ number }) =>
      number === 1
        ? [STREAM, greeting({ head: 4 }), frame(5, "earned"), "data: ha", opened, RESET]
        : [STREAM, greeting({ verdict: "resumed", head: 6 }), frame(6, "replayed")],
    async (server) => {
      const watched = watch({ url: `${server.origin}/` });
      const { stream, clock, records, frames } = watched;
      stream.start();
      await eventually(() => frames.length === 1, { what: "the frame", everyMs: 1 });
      open();
      await reaches(watched, "backoff");
      const [end] = only(records, "disconnected");
      assertEquals([end?.reason, stream.cursor()], ["ended", at(5)]);
      while (stream.state() === "backoff") clock.skip();
      await eventually(() => frames.length === 2, { what: "the next frame", everyMs: 1 });
      assertEquals(server.asked[1]?.headers.get("Last-Event-ID"), at(5));
      stream.stop();
      await server.empty();
    },
  );
});

test("a stream that falls silent is given up after three keepalives, and resumed", async () => {
  await serving(({ number }) => {
    return number === 1
      ? [STREAM, greeting({ head: 5, keepaliveMs: 20_000 })]
      : [STREAM, greeting({ verdict: "resumed", head: 5 })];
  }, async (server) => {
    const watched = watch({ url: `${server.origin}/` });
    const { stream, clock, records } = watched;
    stream.start();
    await reaches(watched, "open");
    clock.advance(59_999);
    assertEquals([stream.state(), only(records, "watchdog")], ["open", []]);
    clock.advance(1);
    assertEquals(only(records, "watchdog"), [{ kind: "watchdog", sinceLastByteMs: 60_000 }]);
    // It had been open for long: it comes back at once.
    await reaches(watched, "open");
    assertEquals(server.asked[1]?.headers.get("Last-Event-ID"), at(5));
    stream.stop();
    await server.empty();
  });
});

test("an end that came early is followed by the wait that the server asked for, within an hour", async () => {
  const cases = [[7000, 7000], [0, 250], [1, 250], [3_600_001, 3_600_000], [
    1e15,
    3_600_000,
  ]] as const;
  for (const [said, waitMs] of cases) {
    const retry = `retry: ${said}\n\n`;
    await serving(() => [STREAM, greeting(), retry, HALF_CLOSE], async (server) => {
      const watched = watch({ url: `${server.origin}/` });
      const { stream, records } = watched;
      stream.start();
      await reaches(watched, "backoff");
      assertEquals(only(records, "state").at(-1)?.waitMs, waitMs, `${said}`);
      stream.stop();
      await server.empty();
    });
  }
});

test("a server that opens and ends for ever costs an attempt each time: none resets the count", async () => {
  await serving(() => [STREAM, greeting(), HALF_CLOSE], async (server) => {
    const watched = watch({ url: `${server.origin}/`, maxAttempts: 4 });
    const { stream, clock, records } = watched;
    stream.start();
    for (let i = 0; i < 3; i++) {
      await reaches(watched, "backoff");
      while (stream.state() === "backoff") clock.skip();
    }
    await reaches(watched, "exhausted");
    assertEquals([server.asked.length, only(records, "disconnected").length], [4, 4]);
    await server.empty();
    assertEquals(clock.pending, 0);
  });
});
