/** The cursor on its way into the application's store: what is saved, and when. */
import { assertEquals } from "@std/assert";
import type { SavedCursor, VisibilitySignal } from "../../../src/client/types.ts";
import { lagFrames } from "../../../src/wire/control.ts";
import { encodeFrame, encodeIdOnly } from "../../../src/wire/frame.ts";
import { eventually } from "../../support/poll.ts";
import { HALF_CLOSE, STREAM } from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { at, frame, gate, greeting, only, reaches } from "./edges.ts";
import { keeping, KEPT, loaded, resumed } from "./keeping.ts";

test("what is saved is where the application stands: after its frames, and its revalidation", async () => {
  const { opened, open } = gate();
  const { opened: more, open: send } = gate();
  await keeping(() => null, () => [
    STREAM,
    greeting({ head: 4 }),
    frame(5, "held"),
    frame(6, "held"),
    more,
    frame(7, "live"),
    encodeFrame(null, "", "moves nothing"),
    encodeIdOnly(at(9)),
  ], async (kept) => {
    kept.stream.start();
    await eventually(() => kept.stream.state() === "open", { what: "the hello", everyMs: 1 });
    // While the run lasts nothing is delivered: the cursor stands before it.
    assertEquals([kept.saved, kept.stream.cursor()], [[], ""]);
    open();
    await eventually(() => kept.saved.at(-1)?.cursor === at(6), { what: "the save", everyMs: 1 });
    send();
    await eventually(() => kept.saved.at(-1)?.cursor === at(9), { what: "the last", everyMs: 1 });
    for (const { unverified } of kept.saved) assertEquals(unverified, false);
    const offsets = kept.saved.map(({ cursor }) => Number(cursor.split(":")[1]));
    assertEquals(offsets, [...offsets].sort((a, b) => a - b));
  }, { revalidate: () => opened });
});

test("a lag is saved as owed until a revalidation has covered it", async () => {
  const lag = lagFrames({ missed: 3, from: at(5), to: at(8) });
  const { opened, open } = gate();
  const runs: string[] = [];
  await keeping(loaded({ stateKept: true }), () => [...resumed(), lag], async (kept) => {
    kept.stream.start();
    await eventually(() => kept.saved.at(-1)?.unverified, { what: "the debt", everyMs: 1 });
    assertEquals([kept.saved.at(-1), runs], [{ cursor: KEPT, unverified: true }, ["lag"]]);
    open();
    await eventually(() => kept.saved.at(-1)?.unverified === false, {
      what: "its end",
      everyMs: 1,
    });
    assertEquals(kept.saved.at(-1), { cursor: at(8), unverified: false });
  }, {
    revalidate: ({ cause }) => {
      runs.push(cause);
      return opened;
    },
  });
});

test("a cursor that the application drops is saved as none", async () => {
  await keeping(loaded({ stateKept: true }), () => [STREAM], async (kept) => {
    kept.stream.start();
    await eventually(() => kept.asked.length === 1, { what: "the request", everyMs: 1 });
    kept.stream.resetCursor();
    await eventually(() => kept.asked.length === 2, { what: "the next request", everyMs: 1 });
    assertEquals(kept.saved.at(-1), { cursor: "", unverified: false });
    assertEquals(kept.asked[1]?.headers.get("Last-Event-ID"), null);
  });
});

test("a page that is left has saved its cursor before the event is over", async () => {
  let say = (_: VisibilitySignal): void => {};
  const visibility = {
    hidden: () => false,
    subscribe(listener: (signal: VisibilitySignal) => void): () => void {
      say = listener;
      return () => {};
    },
  };
  const kept: SavedCursor[] = [];
  let atLeaving = -1;
  await keeping(
    () => null,
    () => [STREAM, greeting({ head: 4 }), frame(5, "last")],
    async (each) => {
      each.stream.start();
      await eventually(() => atLeaving !== -1, { what: "the frame", everyMs: 1 });
      assertEquals([atLeaving, kept.at(-1)?.cursor], [1, at(5)]);
      assertEquals(each.stream.state(), "hidden_closed");
    },
    {
      visibility,
      persist: { load: () => null, save: (saved) => void kept.push(saved) },
      // The cursor of a frame moves when its handler has returned.
      onFrame: () =>
        queueMicrotask(() => {
          kept.splice(0);
          say("pagehide");
          atLeaving = kept.length;
        }),
      revalidate: () => {},
    },
  );
});

test("a store that refuses the cursor is told of, and the stream goes on", async () => {
  const error = new Error("quota");
  const saves: string[] = [];
  await keeping(() => null, () => [
    STREAM,
    greeting({ head: 4 }),
    frame(5, "a"),
    HALF_CLOSE,
  ], async (kept) => {
    kept.stream.start();
    await reaches(kept, "backoff");
    await eventually(() => saves.at(-1) === at(5), { what: "the last save", everyMs: 1 });
    const failed = only(kept.records, "persist_failed");
    assertEquals(failed[0], { kind: "persist_failed", action: "save", error });
    assertEquals([failed.length === saves.length, kept.stream.cursor()], [true, at(5)]);
  }, {
    persist: {
      load: () => null,
      save: ({ cursor }) => {
        saves.push(cursor);
        throw error;
      },
    },
  });
});
