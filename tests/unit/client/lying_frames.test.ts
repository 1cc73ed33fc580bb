/** What a server may say on an open stream, over real sockets and the runtime's own `fetch`. */
import { assertEquals } from "@std/assert";
import type { LifecycleRecord } from "../../../src/client/records.ts";
import type { RevalidateContext } from "../../../src/client/types.ts";
import { lagFrames } from "../../../src/wire/control.ts";
import { encodeFrame } from "../../../src/wire/frame.ts";
import { eventually } from "../../support/poll.ts";
import { HALF_CLOSE, type Script, serving, STREAM } from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import {
  at,
  EPOCH,
  FOREIGN,
  frame,
  greeting,
  only,
  reaches,
  watch,
  type Watched,
} from "./edges.ts";

/** A stream at a server which says what a test wants, after a hello whose head is 4. */
async function told(
  said: Script,
  body: (watched: Watched & { readonly runs: RevalidateContext[] }) => Promise<void> | void,
  again: Script = [greeting({ verdict: "resumed", head: 99 })],
): Promise<void> {
  await serving(
    ({ number }) =>
      number === 1
        ? [STREAM, greeting({ head: 4 }), ...said, encodeFrame(null, "", "the end"), HALF_CLOSE]
        : [STREAM, ...again],
    async (server) => {
      const runs: RevalidateContext[] = [];
      const watched = watch({
        url: `${server.origin}/`,
        revalidate: (context) => void runs.push(context),
      });
      const { stream, frames } = watched;
      stream.start();
      await eventually(() => frames.at(-1)?.data === "the end", { what: "all frames", everyMs: 1 });
      await reaches(watched, "backoff");
      await body({ ...watched, runs });
      stream.stop();
      await server.empty();
      assertEquals(watched.clock.pending, 0);
    },
  );
}

/** Connects again, and waits for the hello. */
async function again(watched: Watched): Promise<void> {
  while (watched.stream.state() === "backoff") watched.clock.skip();
  await reaches(watched, "open");
}

function datas({ frames }: Watched): string[] {
  return frames.map(({ data }) => data).slice(0, -1);
}

test("an id of another epoch moves nothing: its frame is delivered, the next hello revalidates", async () => {
  const foreign = encodeFrame(at(9, FOREIGN), "", "foreign");
  await told([frame(5, "a"), foreign, frame(6, "b")], async (watched) => {
    const { stream, records, runs } = watched;
    assertEquals(datas(watched), ["a", "foreign", "b"]);
    assertEquals(stream.cursor(), at(6));
    const id = at(9, FOREIGN);
    assertEquals(only(records, "bad_cursor"), [{
      kind: "bad_cursor",
      reason: "foreign_epoch",
      id,
    }]);
    assertEquals(runs.length, 1);
    await again(watched);
    assertEquals(runs.map(({ cause }) => cause), ["hello", "hello"]);
    assertEquals(stream.cursor(), at(6));
  });
});

test("an id that is none moves nothing, and is shown cut short", async () => {
  const ids = [
    "7",
    `${EPOCH}:`,
    `${EPOCH}:07`,
    `${EPOCH}:+7`,
    `${EPOCH}:7.5`,
    `${EPOCH}:9007199254740992`,
    `${EPOCH.toUpperCase()}:7`,
    `${EPOCH}:7,${EPOCH}:8`,
    ` ${EPOCH}:7`,
    "x".repeat(1000),
  ];
  const said = ids.map((id, i) => `id: ${id}\ndata: ${i}\n\n`);
  await told([frame(5, "a"), ...said], async (watched) => {
    const { stream, records, runs } = watched;
    assertEquals(datas(watched), ["a", ...ids.keys()].map(String));
    assertEquals(stream.cursor(), at(5));
    const expected = ids.map((id) => (
      { kind: "bad_cursor", reason: "malformed", id: id.slice(0, 40) } as const
    ));
    assertEquals(only(records, "bad_cursor"), expected);
    await again(watched);
    assertEquals(runs.map(({ cause }) => cause), ["hello", "hello"]);
  });
});

test("an id with a NUL, and an empty one, are no ids at all", async () => {
  await told(
    [frame(5, "a"), `id: ${at(7)}\0\ndata: nul\n\n`, "id\ndata: empty\n\n"],
    async (watched) => {
      const { stream, records, frames, runs } = watched;
      assertEquals(frames.map(({ id }) => id), [at(5), null, null, null]);
      assertEquals([stream.cursor(), only(records, "bad_cursor")], [at(5), []]);
      await again(watched);
      // Nothing was wrong: what resumed needs no revalidation.
      assertEquals(runs.length, 1);
    },
  );
});

test("ids that go back, or come twice, are told and not delivered", async () => {
  const said = [frame(7, "a"), frame(7, "twice"), frame(6, "back"), frame(4, "old"), frame(0, "0")];
  await told([...said, frame(9, "b"), frame(8, "back again"), frame(10, "c")], (watched) => {
    assertEquals(datas(watched), ["a", "b", "c"]);
    assertEquals(watched.stream.cursor(), at(10));
    assertEquals(only(watched.records, "duplicate_frame").length, 5);
  });
});

test("an id alone that goes back, is malformed or foreign moves nothing", async () => {
  const marks = [at(3), "nonsense", at(50, FOREIGN), at(6), at(5)];
  await told(
    [frame(5, "a"), ...marks.map((id) => `id: ${id}\n\n`), frame(6, "late")],
    (watched) => {
      assertEquals([datas(watched), watched.stream.cursor()], [["a"], at(6)]);
      const reasons = only(watched.records, "bad_cursor").map(({ reason }) => reason);
      assertEquals(reasons, ["malformed", "foreign_epoch"]);
    },
  );
});

test("a cursor of another epoch is not believed to have resumed", async () => {
  const other = greeting({ epoch: FOREIGN, verdict: "resumed", head: 2 });
  await told([frame(5, "a")], async (watched) => {
    const { stream, runs, records } = watched;
    await again(watched);
    await eventually(() => stream.cursor() === at(2, FOREIGN), { what: "the head", everyMs: 1 });
    assertEquals(runs.map(({ cause, epoch }) => [cause, epoch]), [
      ["hello", EPOCH],
      ["hello", FOREIGN],
    ]);
    assertEquals(only(records, "hello").map(({ resumed }) => resumed), [false, true]);
  }, [other]);
});

test("a resumed connection that replays what had been delivered delivers nothing twice", async () => {
  const replay = [greeting({ verdict: "resumed", head: 6 }), frame(4, "x"), frame(5, "x")];
  await told([frame(5, "a")], async (watched) => {
    const { frames, stream, records } = watched;
    await again(watched);
    await eventually(() => stream.cursor() === at(6), { what: "the new frame", everyMs: 1 });
    assertEquals(frames.map(({ data }) => data), ["a", "the end", "new"]);
    assertEquals(only(records, "duplicate_frame").length, 2);
  }, [...replay, frame(6, "new")]);
});

test("frames of the library that it does not know are told and ignored, whatever their ids", async () => {
  const long = `sse:${"x".repeat(100)}`;
  const said = ["sse:future", "sse:", long].map((name) =>
    `id: ${at(9)}\nevent: ${name}\ndata: {"a":1}\n\n`
  );
  await told([frame(5, "a"), ...said], (watched) => {
    assertEquals([datas(watched), watched.stream.cursor()], [["a"], at(5)]);
    assertEquals(only(watched.records, "unknown_frame").map(({ type }) => type), [
      "sse:future",
      "sse:",
      long.slice(0, 64),
    ]);
  });
});

test("frames of the library with nonsense in them neither throw nor move the cursor", async () => {
  const said = ["reset", "lag", "snapshot", "history", "expiring"].flatMap((name) =>
    ["", "{", "null", "[]", "7", '{"phase":7,"topic":7,"in_ms":"7","reason":7,"to":7,"missed":-1}']
      .map((data) => `event: sse:${name}\ndata: ${data}\n\n`)
  );
  await told([frame(5, "a"), ...said], (watched) => {
    const { records, stream } = watched;
    assertEquals([datas(watched), stream.cursor()], [["a"], at(5)]);
    const kinds = (kind: LifecycleRecord["kind"]): number => only(records, kind).length;
    assertEquals([kinds("reset"), kinds("lag"), kinds("expiring")], [6, 6, 6]);
    for (const { reason } of only(records, "reset")) assertEquals(reason, "");
    for (const { missed } of only(records, "lag")) assertEquals(missed, null);
    for (const { inMs } of only(records, "expiring")) assertEquals(inMs, 0);
  });
});

test("a lag that points back, or into another epoch, moves no cursor back", async () => {
  const back = lagFrames({ missed: 3, from: at(1), to: at(2) });
  const foreign = lagFrames({ missed: 3, from: at(1, FOREIGN), to: at(90, FOREIGN) });
  await told([frame(7, "a"), back, foreign, frame(8, "b")], async (watched) => {
    const { stream, runs } = watched;
    assertEquals(datas(watched), ["a", "b"]);
    await eventually(() => stream.cursor() === at(8), { what: "the last frame", everyMs: 1 });
    assertEquals(runs[1]?.cause, "lag");
  });
});

test("no record says more of an id than forty characters, nor of an event than its name", async () => {
  const secret = "SECRET-OF-THE-USER";
  const said = [
    frame(5, secret),
    frame(5, secret),
    `id: ${"i".repeat(41)}${secret}\ndata: ${secret}\n\n`,
    `event: sse:future\ndata: ${secret}\n\n`,
  ];
  await told(said, ({ records }) => {
    assertEquals(only(records, "duplicate_frame").length + only(records, "bad_cursor").length, 2);
    assertEquals(JSON.stringify(records).includes(secret), false);
  });
});
