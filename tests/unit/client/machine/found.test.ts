/**
 * Schedules that once broke a rule: shrunk by the property tests, or thought of while reading.
 *
 * @module
 */
import type { Step } from "../../../model/client_schedule.ts";
import { play } from "../../../model/client_world.ts";
import { test } from "../../../support/test.ts";

const arrive: Step = { do: "arrive" };
const one: Step = { do: "publish", count: 1, mine: true, size: 0 };
const two: Step = { ...one, count: 2 };
const cut: Step = { do: "cut", clean: false };
const second: Step = { do: "live", ms: 1000 };

test("a cursor that was restored without its state is kept as unverified until a run brings it", () =>
  play({ store: "prompt" }, [one, arrive, two, arrive, { do: "reload", keep: false }]));

test("the same while the store is slow", () =>
  play({ store: "slow" }, [
    arrive,
    { do: "lag", count: 1 },
    arrive,
    { do: "stored", newest: false },
    { do: "stored", newest: false },
    { do: "reload", keep: false },
    { do: "stored", newest: false },
  ]));

for (const where of ["lifecycle", "frame", "revalidate", "lag"] as const) {
  // Which of its calls back the application stops in: each of the first few.
  for (let calls = 0; calls < 5; calls++) {
    test(`stop() within call back ${calls + 1} of ${where} is the last that the application hears`, () => {
      const plans = Array.from({ length: calls }, (): Step => ({
        do: "plan",
        where,
        acts: ["credentials"],
      }));
      return play({}, [
        ...plans,
        { do: "plan", where, acts: ["stop"] },
        { do: "runs", how: "wait", deaf: false },
        arrive,
        two,
        one,
        { do: "lag", count: 1 },
        one,
        arrive,
        { do: "settle", ok: true },
        arrive,
      ]);
    });
  }
}

test("a piece of a repair that onFrame rejects is owed when the repair is over", () =>
  play({ repair: true, store: "prompt" }, [
    arrive,
    one,
    { do: "evict" },
    { do: "call", call: "reconnect" },
    { do: "plan", where: "frame", acts: ["throw"] },
    arrive,
  ]));

test("the same when the revalidation for it is rejected before the repair is over", () =>
  play({ repair: true, store: "prompt" }, [
    arrive,
    { do: "wait", ms: 2500 },
    one,
    { do: "evict" },
    { do: "call", call: "reconnect" },
    { do: "runs", how: "fail", deaf: false },
    { do: "plan", where: "frame", acts: ["throw"] },
    { do: "accept" },
    // Into the snapshot, but not to its end.
    ...Array.from({ length: 13 }, (): Step => ({ do: "flow", bytes: 40 })),
    arrive,
    cut,
    second,
  ]));

test("a store that answers late does not bring a cursor of before back", () =>
  play({ store: "slow" }, [
    { do: "stored", newest: false },
    arrive,
    two,
    arrive,
    { do: "stored", newest: false },
    { do: "stored", newest: false },
    { do: "reload", keep: true },
    { do: "call", call: "stop" },
    { do: "call", call: "start" },
    // The question of the second start, then that of the first.
    { do: "stored", newest: true },
    arrive,
    one,
    arrive,
    { do: "stored", newest: false },
    cut,
    second,
    second,
    arrive,
  ]));

test("a cursor that is dropped while the store is asked for it does not come back", () =>
  play({ store: "slow" }, [
    { do: "stored", newest: false },
    one,
    arrive,
    { do: "stored", newest: false },
    { do: "reload", keep: false },
    { do: "call", call: "reset" },
    { do: "stored", newest: false },
  ]));

test("what is asked for last within a call back is what happens", async () => {
  for (
    const acts of [["stop", "start", "stop"], ["stop", "start"], ["reconnect", "stop"]] as const
  ) {
    await play({}, [arrive, { do: "plan", where: "frame", acts }, one, arrive]);
  }
});

test("a second start() within one call back begins nothing more", () =>
  play({}, [{ do: "plan", where: "frame", acts: ["stop", "start", "start"] }, arrive]));

test("a cursor that is dropped right before stop() within a call back is dropped", () =>
  play({ store: "prompt" }, [
    arrive,
    { do: "plan", where: "frame", acts: ["reset", "stop"] },
    one,
    arrive,
  ]));

test("a stream with a restored cursor hears the page and the network", () =>
  play({ store: "prompt" }, [
    arrive,
    one,
    arrive,
    { do: "reload", keep: true },
    { do: "signal", signal: "hidden" },
    { do: "live", ms: 61_000 },
    { do: "signal", signal: "visible" },
    second,
    { do: "signal", signal: "offline" },
    second,
  ]));

test("frames that no revalidation can outrun do not keep the stream from ever coming to rest", () =>
  play({ heldMaxFrames: 3 }, [
    arrive,
    cut,
    { do: "signal", signal: "visible" },
    { ...one, count: 4 },
  ]));

test("a stream that is started again by what the application hears of its stop is started", () =>
  play({}, [
    arrive,
    { do: "plan", where: "lifecycle", acts: ["stop", "start"] },
    { do: "call", call: "stop" },
    arrive,
    { do: "live", ms: 2000 },
    { do: "signal", signal: "visible" },
    arrive,
  ]));
