/** One connection's conversation: what bytes it takes, and what it reports of them. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { LifecycleRecord } from "../../../src/client/records.ts";
import { Session, type SessionOptions } from "../../../src/client/session.ts";
import type { StreamEvent } from "../../../src/client/step.ts";
import { keepaliveFrame, lagFrames, resetFrame, snapshotFrame } from "../../../src/wire/control.ts";
import { encodeComment, encodeIdOnly, encodeRetry, joinBytes } from "../../../src/wire/frame.ts";
import type { Hello } from "../../../src/wire/hello.ts";
import { test } from "../../support/test.ts";
import { at, EPOCH, frame, greeting } from "./edges.ts";

const utf8 = new TextEncoder();
const GENERATION = 7;

/** Everything that a session said, in order, each as a line. */
interface Heard {
  readonly session: Session;
  /** All but the reports of bytes. */
  readonly lines: string[];
  /** How many reports of bytes there were. */
  readonly bytes: () => number;
}

function listen(options: Partial<SessionOptions> = {}): Heard {
  const lines: string[] = [];
  let bytes = 0;
  const report = (event: StreamEvent): void => {
    assertEquals("generation" in event ? event.generation : null, GENERATION);
    if (event.type === "bytes") bytes++;
    else lines.push(describe(event));
  };
  const session = new Session({
    generation: GENERATION,
    presented: { epoch: EPOCH, offset: 3 },
    wires: [1, 1],
    maxBufferBytes: 4096,
    bind: ({ epoch }: Hello) => epoch !== EPOCH,
    report,
    tell: (record: LifecycleRecord) => lines.push(`told ${JSON.stringify(record)}`),
    keepalive: () => lines.push("keepalive"),
    history: (phase, topic) => lines.push(`history ${phase} ${topic}`),
    ...options,
  });
  return { session, lines, bytes: () => bytes };
}

function describe(event: StreamEvent): string {
  switch (event.type) {
    case "hello": {
      const { hello, presented, cleared } = event;
      return `hello ${hello.verdict} ${JSON.stringify(presented)} ${cleared}`;
    }
    case "frame":
      return `frame ${event.frame.type} ${event.frame.data} ${event.frame.id}`;
    case "failed":
      return `failed ${event.reason} ${event.status} ${event.final} ${event.retryAfterMs}`;
    case "ended":
      return `ended ${event.reason}`;
    case "mark":
      return `mark ${event.id}`;
    case "retry":
      return `retry ${event.ms}`;
    case "reset":
      return `reset ${event.reason}`;
    case "lag":
      return `lag ${event.lag.missed} ${event.lag.from} ${event.lag.to}`;
    default:
      return event.type;
  }
}

const HELLO = [`hello resumed {"epoch":"${EPOCH}","offset":3} false`];

test("each thing that a server says after its hello is one report, in order", () => {
  const { session, lines, bytes } = listen();
  const said: readonly Uint8Array[] = [
    greeting({ verdict: "resumed" }, 700),
    frame(4, "a"),
    frame(5, "b", "tick"),
    frame(null, "hook"),
    encodeIdOnly(at(6)),
    keepaliveFrame("sse:keepalive"),
    encodeComment("dropped 2"),
    lagFrames({ missed: 2, from: at(6), to: at(8) }),
    snapshotFrame("begin"),
    snapshotFrame("end", "8"),
    utf8.encode('event: sse:history\ndata: {"phase":"begin","topic":"t"}\n\n'),
    utf8.encode('event: sse:history\ndata: {"phase":"end","topic":"t"}\n\n'),
    utf8.encode('event: sse:history\ndata: {"phase":"middle","topic":"t"}\n\n'),
    utf8.encode('event: sse:expiring\ndata: {"in_ms":5}\n\n'),
    utf8.encode("event: sse:other\nid: 9\ndata: x\n\n"),
    resetFrame("slow"),
  ];
  for (const piece of said) session.feed(piece);
  session.end("");
  assertEquals(lines, [
    "retry 700",
    ...HELLO,
    `frame message a ${at(4)}`,
    `frame tick b ${at(5)}`,
    "frame message hook null",
    `mark ${at(6)}`,
    "keepalive",
    `lag 2 ${at(6)} ${at(8)}`,
    "repaired",
    "history begin t",
    "history end t",
    'told {"kind":"expiring","inMs":5}',
    'told {"kind":"unknown_frame","type":"sse:other"}',
    "reset slow",
    "ended ended",
  ]);
  assertEquals(bytes(), said.length);
});

test("before its hello a session marks nothing and takes no comment for a keepalive", () => {
  const { session, lines } = listen();
  session.feed(joinBytes([encodeComment("keepalive"), encodeIdOnly(at(9)), encodeRetry(3)]));
  session.feed(greeting({ verdict: "resumed", keepaliveEvent: "" }));
  assertEquals(lines, ["retry 3", "retry 1500", ...HELLO]);
});

test("a keepalive has the name that the hello gives it, or is a comment", () => {
  for (const [name, count] of [["sse:keepalive", 1], ["beat", 1], ["", 1]] as const) {
    const { session, lines } = listen();
    session.feed(greeting({ verdict: "resumed", keepaliveEvent: name }));
    session.feed(keepaliveFrame(name));
    assertEquals(lines.filter((line) => line === "keepalive").length, count, name);
    // Another comment is none; an event without a name is the application's, whatever the name is.
    session.feed(joinBytes([encodeComment("dropped 3"), encodeComment("keepalives")]));
    assertEquals(lines.filter((line) => line === "keepalive").length, count, name);
    session.feed(frame(4, "x"));
    assertEquals(lines.at(-1), `frame message x ${at(4)}`);
  }
});

test("a hello's epoch is bound once, before it is reported, and a refused one never", () => {
  const bound: string[] = [];
  const bind = ({ epoch }: Hello): boolean => bound.push(epoch) > 0;
  const { session, lines } = listen({ bind });
  session.feed(greeting({ verdict: "fresh" }));
  assertEquals([bound, lines.at(-1)?.endsWith("true")], [[EPOCH], true]);
  for (const hello of [{ wire: 2 }, { epoch: "x" }]) listen({ bind }).session.feed(greeting(hello));
  assertEquals(bound, [EPOCH]);
});

test("nothing is said of a session that was abandoned, even in the middle of a chunk", () => {
  const { session, lines } = listen({ keepalive: () => session.abandon() });
  session.feed(joinBytes([
    greeting({ verdict: "resumed" }),
    keepaliveFrame("sse:keepalive"),
    frame(4, "late"),
    encodeIdOnly(at(5)),
    encodeRetry(9),
    utf8.encode("event: sse:other\ndata: x\n\n"),
    greeting(),
  ]));
  session.end("late");
  assertEquals([lines, session.over], [["retry 1500", ...HELLO], true]);
});

test("an event is bounded by the characters it holds, before the hello and after", () => {
  const most = "x".repeat(4000);
  const { session, lines } = listen();
  session.feed(greeting({ verdict: "resumed" }));
  for (let i = 0; i < 5; i++) session.feed(frame(4 + i, most));
  assertEquals(lines.length, 7);
  session.feed(utf8.encode(`data: ${most}\ndata: ${most}\n\n`));
  assertEquals([lines.at(-1), session.over], ["ended too_large", true]);
  const early = listen();
  early.session.feed(utf8.encode(`event: sse:hello\ndata: ${most}${most}`));
  assertEquals(early.lines, ["failed too_large 200 false 0"]);
});

/** What a server may send: anything at any time. */
const piece = fc.oneof(
  fc.constantFrom(
    greeting({ verdict: "resumed" }),
    frame(4, "a"),
    frame(4, "é\u{1f600}\r\nlines"),
    frame(null, "hook", "sse"),
    encodeIdOnly(at(6)),
    keepaliveFrame("sse:keepalive"),
    encodeComment("c"),
    encodeRetry(5),
    lagFrames({ missed: null, from: at(1), to: at(2) }),
    snapshotFrame("end", "3"),
    resetFrame("shutdown"),
    utf8.encode("event: sse:\ndata\n\n"),
    utf8.encode("data: half"),
    utf8.encode("\n"),
    utf8.encode(`data: ${"x".repeat(3000)}\n`),
  ),
  fc.uint8Array({ maxLength: 40 }),
);

test("a session says the same however its bytes are cut, and exactly one end, which is its last word", () => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.array(piece, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1 }),
      (greets, pieces, sizes) => {
        const all = joinBytes([...(greets ? [greeting({ verdict: "resumed" })] : []), ...pieces]);
        const whole = listen();
        whole.session.feed(all);
        whole.session.end("");
        const cut = listen();
        for (let from = 0, i = 0; from < all.length; i++) {
          const to = from + (sizes[i % sizes.length] ?? 1);
          cut.session.feed(all.subarray(from, to));
          from = to;
        }
        cut.session.end("");
        assertEquals(cut.lines, whole.lines);
        const ends = whole.lines.map((line) => /^(?:failed|ended) /.test(line));
        assertEquals([ends.filter(Boolean).length, ends.at(-1)], [1, true]);
        assertEquals(whole.session.over, true);
      },
    ),
    { numRuns: 400 },
  );
});
