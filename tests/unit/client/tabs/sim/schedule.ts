/**
 * Schedules of what can befall a profile, for property tests.
 *
 * @module
 */
import fc from "fast-check";
import type { Page } from "./page.ts";
import type { World } from "./world.ts";

/** One thing that happens. */
export interface Happening {
  readonly name: string;
  /** Which page, of those that are there. */
  readonly page: number;
  /** How much of it. */
  readonly amount: number;
}

/** Things that can happen to a page. */
const TO_PAGE: Readonly<Record<string, (page: Page, amount: number) => void>> = {
  detach: (page) => page.detach(),
  crash: (page) => page.crash(),
  hide: (page) => page.hide(),
  show: (page) => page.show(),
  freeze: (page, amount) => page.freeze(amount % 2 === 0),
  resume: (page) => page.resume(),
  see: (page, amount) => page.see(amount % 2 === 0),
  throttle: (page, amount) => void (page.owner.throttled = amount % 2 === 0),
  slow: (page, amount) => void (page.runMs = amount * 1000),
  fail: (page) => void page.failures++,
  reject: (page) => void (page.rejects = true),
  reconnect: (page) => page.tab.reconnect(),
  offline: (page, amount) => page.connect(amount % 2 === 0),
};

/** Things that can happen to the rest of the world. */
const TO_WORLD: Readonly<Record<string, (world: World, amount: number) => void>> = {
  publish: (world, amount) => world.server.publish(amount),
  trim: (world) => world.server.trim(),
  restart: (world) => world.server.restart(),
  cut: (world) => world.server.cut(),
  lag: (world) => world.server.streams.forEach((stream) => stream.lag()),
  open: (world) => void (world.pages.length < 6 && world.open()),
  killWorker: (world) => world.killWorker(),
  hangWorker: (world, amount) => {
    if (world.worker !== null) world.worker.owner.asleep = amount % 2 === 0;
  },
};

/** How long may pass: within a turn, within a beat, and beyond what silence is allowed. */
const WAITS = [0, 1, 3, 10, 30, 100, 1000, 6000, 16_000, 40_000, 70_000, 130_000];
const SHORT = 6;

function step(name: string, page = fc.nat(5), amount = fc.nat(12)): fc.Arbitrary<Happening> {
  return fc.record({ name: fc.constant(name), page, amount });
}

const pause = step("wait", undefined, fc.nat(SHORT));
const sleep = step("wait", undefined, fc.integer({ min: SHORT + 1, max: WAITS.length - 1 }));
const publish = step("publish", undefined, fc.integer({ min: 1, max: 3 }));
const bystander = fc.oneof(
  { weight: 4, arbitrary: publish },
  { weight: 4, arbitrary: pause },
  ...["cut", "trim", "lag", "restart", "slow", "fail", "open", "reconnect"].map((name) => ({
    weight: 1,
    arbitrary: step(name),
  })),
);

/** One page through something that begins, lasts, and ends, while other things happen. */
function episode(begin: Happening, end: readonly Happening[]): fc.Arbitrary<Happening[]> {
  const few = fc.array(bystander, { maxLength: 3 });
  return fc.tuple(few, fc.option(sleep), few, few).map(([early, long, late, after]) => [
    begin,
    ...early,
    ...(long === null ? [] : [long]),
    ...late,
    ...end,
    ...after,
  ]);
}

/** Schedules of up to so many happenings or episodes. */
export function schedules(maxLength: number): fc.Arbitrary<Happening[]> {
  const single = fc.constantFrom(...Object.keys(TO_PAGE), ...Object.keys(TO_WORLD))
    .chain((name) => step(name)).map((happening) => [happening]);
  const around = fc.nat(5).chain((page) => {
    const at = (name: string, amount = 0): Happening => ({ name, page, amount });
    const look = [at("see", 1), at("see", 0)];
    return fc.oneof(
      episode(at("freeze", 1), [at("resume")]),
      episode(at("freeze", 0), [at("resume")]),
      episode(at("hide"), [at("show")]),
      episode(at("slow", 10), [at("slow")]),
      episode(at("slow", 10), [at("hide"), at("show"), at("slow")]),
      episode(at("see", 1), [at("see", 0)]),
      episode(at("hangWorker", 0), [at("hangWorker", 1), ...look]),
      episode(at("hangWorker", 0), [at("killWorker"), ...look]),
      episode(at("killWorker"), look),
    );
  });
  return fc.array(
    fc.oneof(
      { weight: 2, arbitrary: single },
      { weight: 3, arbitrary: bystander.map((happening) => [happening]) },
      { weight: 1, arbitrary: sleep.map((happening) => [happening]) },
      { weight: 3, arbitrary: around },
    ),
    { maxLength },
  ).map((parts) => parts.flat());
}

/** Lets a schedule happen, then everything come to rest: all pages awake, seen and with a network. */
export async function happen(world: World, schedule: readonly Happening[]): Promise<void> {
  for (const { name, page, amount } of schedule) {
    const here = world.present;
    const target = here[page % Math.max(here.length, 1)];
    if (name === "wait") await world.advance(WAITS[amount % WAITS.length] ?? 0);
    else if (target !== undefined) TO_PAGE[name]?.(target, amount);
    TO_WORLD[name]?.(world, amount);
  }
  if (world.worker !== null) world.worker.owner.asleep = false;
  for (const page of world.present) {
    page.owner.throttled = false;
    page.runMs = 20;
    page.failures = 0;
    page.rejects = false;
    page.resume();
    page.signal("pageshow");
    page.connect(true);
    page.see(false);
  }
  await world.advance(120_000);
  for (const page of world.present) page.see(true);
  await world.advance(120_000);
}
