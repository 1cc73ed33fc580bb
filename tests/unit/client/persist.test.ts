/** The cursor over a page load: what is loaded, and what the first hello then means. */
import { assertEquals } from "@std/assert";
import type { Persistence, RevalidateContext } from "../../../src/client/types.ts";
import { eventually } from "../../support/poll.ts";
import { STREAM } from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { at, EPOCH, frame, gate, greeting, only, reaches, turns } from "./edges.ts";
import { keeping, KEPT, type Kept, loaded, resumed } from "./keeping.ts";

/** Lets the connection end, and waits for the next. */
async function again(kept: Kept): Promise<void> {
  kept.stream.reconnect();
  await reaches(kept, "open");
}

const settled = ({ records, runs }: Kept): boolean =>
  only(records, "revalidated").length === runs.length;

test("nothing is asked before the cursor is there, and then it is presented", async () => {
  const { opened, open } = gate();
  await keeping(() => opened.then(loaded()), resumed, async (kept) => {
    const { stream, records } = kept;
    stream.start();
    stream.start();
    await turns();
    assertEquals([kept.loads(), stream.state(), records], [1, "stopped", []]);
    open();
    await reaches(kept, "open");
    assertEquals(kept.asked[0]?.headers.get("Last-Event-ID"), KEPT);
  });
});

test("a stream that is stopped while its cursor is on the way does not connect when it comes", async () => {
  const { opened, open } = gate();
  await keeping(() => opened.then(loaded()), resumed, async (kept) => {
    kept.stream.start();
    kept.stream.stop();
    open();
    await turns();
    assertEquals([kept.asked.length, kept.stream.state()], [0, "stopped"]);
    kept.stream.start();
    await reaches(kept, "open");
    assertEquals([kept.asked.length, kept.asked[0]?.headers.get("Last-Event-ID")], [1, KEPT]);
  });
});

test("a store that answers after a stop and a start brings no cursor of before back", async () => {
  const { opened, open } = gate();
  const loads = [
    () => opened.then(loaded({ cursor: at(2) })),
    loaded({ stateKept: true }),
  ];
  await keeping(
    () => loads.shift()?.() ?? null,
    () => [...resumed(), frame(6, "new")],
    async (kept) => {
      kept.stream.start();
      kept.stream.stop();
      kept.stream.start();
      await eventually(() => kept.stream.cursor() === at(6), { what: "the frame", everyMs: 1 });
      open();
      await turns();
      assertEquals([kept.stream.cursor(), kept.asked.length], [at(6), 1]);
      assertEquals(kept.asked[0]?.headers.get("Last-Event-ID"), KEPT);
    },
  );
});

test("the cursor is loaded once: a stopped stream has its own", async () => {
  await keeping(loaded({ stateKept: true }), ({ number }) => {
    return [STREAM, greeting({ verdict: "resumed", head: 5 }), frame(5 + number, "x")];
  }, async (kept) => {
    for (const number of [1, 2]) {
      kept.stream.start();
      await eventually(() => kept.stream.cursor() === at(5 + number), { what: "the frame" });
      kept.stream.stop();
    }
    assertEquals(kept.loads(), 1);
    assertEquals(kept.asked.map(({ headers }) => headers.get("Last-Event-ID")), [KEPT, at(6)]);
  });
});

test("after a load that has nothing, or fails, a stream starts without a cursor", async () => {
  const failure = new Error("no store");
  const loads: readonly (readonly [Persistence["load"], unknown[]])[] = [
    [() => null, []],
    [() => Promise.resolve(null), []],
    [() => ({ cursor: "", unverified: false }), []],
    [() => {
      throw failure;
    }, [failure]],
    [() => Promise.reject(failure), [failure]],
  ];
  for (const [load, errors] of loads) {
    await keeping(load, () => [STREAM, greeting({ head: 5 })], async (kept) => {
      kept.stream.start();
      await reaches(kept, "open");
      assertEquals(kept.asked[0]?.headers.get("Last-Event-ID"), null);
      const failed = only(kept.records, "persist_failed");
      assertEquals(
        failed,
        errors.map((error) => ({ kind: "persist_failed", action: "load", error })),
      );
      assertEquals(kept.runs.map(({ cause }) => cause), ["hello"]);
    });
  }
});

test("a store that holds no cursor of this wire is told of, and nothing is presented", async () => {
  for (const cursor of ["SECRET", `${EPOCH}:07`, `${EPOCH}:1, ${EPOCH}:2`, "x".repeat(99)]) {
    await keeping(() => ({ cursor, unverified: false }), resumed, async (kept) => {
      kept.stream.start();
      await reaches(kept, "open");
      assertEquals(kept.asked[0]?.headers.get("Last-Event-ID"), null);
      const [failed, ...more] = only(kept.records, "persist_failed");
      assertEquals([failed?.action, more], ["load", []]);
      // The message must not repeat what may be anything.
      assertEquals(String(failed?.error).includes(cursor), false);
    });
  }
});

test("a restored cursor's first hello revalidates in full even if it resumed, and the next does not", async () => {
  await keeping(loaded(), resumed, async (kept) => {
    kept.stream.start();
    await reaches(kept, "open");
    assertEquals(kept.runs.map(({ cause, full }) => [cause, full]), [["restored", true]]);
    await eventually(() => settled(kept), { what: "the end of the run", everyMs: 1 });
    await again(kept);
    assertEquals([kept.runs.length, kept.stream.cursor()], [1, KEPT]);
  });
});

test("a restored cursor revalidates again until one run has come to its end", async () => {
  const failing = [true, false];
  const causes: string[] = [];
  const revalidate = ({ cause }: RevalidateContext): Promise<void> => {
    causes.push(cause);
    return failing.shift() === true ? Promise.reject(new Error("no server")) : Promise.resolve();
  };
  await keeping(loaded(), resumed, async (kept) => {
    kept.stream.start();
    await eventually(() => only(kept.records, "revalidate_failed").length === 1, {
      what: "a failure",
    });
    await again(kept);
    await eventually(() => only(kept.records, "revalidated").length === 1, { what: "a success" });
    await again(kept);
    assertEquals(causes.length, 2);
  }, { revalidate });
});

test("where the state was kept as well, what was missed is simply replayed", async () => {
  await keeping(
    loaded({ stateKept: true }),
    () => [...resumed(), frame(6, "missed")],
    async (kept) => {
      kept.stream.start();
      await eventually(() => kept.frames.length === 1, { what: "the frame", everyMs: 1 });
      assertEquals(kept.runs, []);
    },
  );
});

test("a revalidation that was owed when the page was left is still owed", async () => {
  await keeping(loaded({ stateKept: true, unverified: true }), resumed, async (kept) => {
    kept.stream.start();
    await reaches(kept, "open");
    assertEquals(kept.runs.map(({ cause }) => cause), ["hello"]);
    await eventually(() => kept.saved.length > 0, { what: "the save", everyMs: 1 });
    assertEquals(kept.saved.at(-1), { cursor: KEPT, unverified: false });
  });
});
