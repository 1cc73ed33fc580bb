import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  type ListenOptions,
  readListenOptions,
  runningServer,
  type Stoppable,
} from "../../../src/adapters/server.ts";
import {
  type ProcessHost,
  stopOnSignals,
  type StopSignal,
  thisProcess,
} from "../../../src/adapters/signals.ts";
import { ConfigError } from "../../../src/errors.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";

const address = { hostname: "127.0.0.1", port: 1234 };

/** A process that is sent signals by hand, and writes down what is done. */
class FakeProcess implements ProcessHost {
  readonly steps: string[] = [];
  readonly #listeners = new Map<StopSignal, Set<() => void>>();

  on(signal: StopSignal, listener: () => void): void {
    const before = this.#listeners.get(signal) ?? new Set();
    this.#listeners.set(signal, before.add(listener));
  }
  off(signal: StopSignal, listener: () => void): void {
    this.#listeners.get(signal)?.delete(listener);
  }
  exit(code: number): void {
    this.steps.push(`exit ${code}`);
  }
  send(signal: StopSignal): void {
    for (const listener of [...this.#listeners.get(signal) ?? []]) listener();
  }
  /** The signals that are listened to, each as often as it is. */
  get heard(): StopSignal[] {
    return [...this.#listeners].flatMap(([signal, all]) => [...all].map(() => signal)).sort();
  }
  hub(ends: Promise<void> = Promise.resolve()): Stoppable {
    return {
      shutdown: () => {
        this.steps.push("shutdown");
        return ends;
      },
      drain: ({ lameDuckMs, spreadMs, signal } = {}) => {
        this.steps.push(`drain ${lameDuckMs} ${spreadMs}`);
        signal?.addEventListener("abort", () => this.steps.push("hurry"));
        return ends;
      },
    };
  }
  serve(options: ListenOptions) {
    return runningServer(address, { logger: { error: () => {} }, ...options }, {
      unlisten: (exits) => void this.steps.push(exits ? "unlisten for ever" : "unlisten"),
      ended: () => Promise.resolve(),
      now: () => void this.steps.push("cut"),
    }, this);
  }
  async exits(times = 1): Promise<void> {
    await eventually(() => this.steps.filter((step) => step.startsWith("exit")).length === times, {
      what: `${times} exits; steps: ${this.steps.join()}`,
    });
  }
}

const soon = { lameDuckMs: 5, spreadMs: 7 };
const never = new Promise<void>(() => {});

test("a server that was not asked to listens to no signal", async () => {
  const host = new FakeProcess();
  const server = host.serve({ hub: host.hub() });
  assertEquals(host.heard, []);
  await server.shutdown();
});

test("on SIGTERM it drains, closes the port after the lame duck, and exits with 0", async () => {
  const host = new FakeProcess();
  host.serve({
    hub: host.hub(),
    drainOnSignal: soon,
    onStopped: () => void host.steps.push("stopped"),
  });
  assertEquals(host.heard, ["SIGINT", "SIGTERM"]);
  host.send("SIGTERM");
  assertEquals(host.steps, ["drain 5 7"]);
  await host.exits();
  assertEquals(host.steps, ["drain 5 7", "unlisten for ever", "stopped", "exit 0"]);
});

test("on SIGINT it closes the port at once, for somebody waits", async () => {
  const host = new FakeProcess();
  host.serve({ hub: host.hub(), drainOnSignal: true });
  host.send("SIGINT");
  await host.exits();
  assertEquals(host.steps, ["unlisten for ever", "drain 0 0", "exit 0"]);
});

test("by default the lame duck is 5 s and the spread 3 s", async () => {
  const host = new FakeProcess();
  const server = host.serve({ hub: host.hub(), drainOnSignal: true });
  host.send("SIGTERM");
  assertEquals(host.steps, ["drain 5000 3000"]);
  await server.shutdown();
  await host.exits();
});

for (const [second, code] of [["SIGTERM", 143], ["SIGINT", 130]] as const) {
  test(`a second signal exits at once with ${code} when it is ${second}`, async () => {
    const host = new FakeProcess();
    const server = host.serve({ hub: host.hub(), drainOnSignal: { lameDuckMs: 60_000 } });
    host.send("SIGTERM");
    host.send(second);
    assertEquals(host.steps, ["drain 60000 3000", `exit ${code}`]);
    await server.shutdown();
  });
}

test("after a shutdown or a drain by hand the signals have their own effect again", async () => {
  const host = new FakeProcess();
  const options = { hub: host.hub(), drainOnSignal: true };
  await host.serve(options).shutdown();
  assertEquals(host.heard, []);
  await host.serve(options).drain({ lameDuckMs: 0, spreadMs: 0 });
  assertEquals(host.heard, []);
  assertEquals(host.steps, ["unlisten", "shutdown", "unlisten", "drain 0 0"]);
});

test("a signal during a shutdown by hand joins it, and exits when it is done", async () => {
  const host = new FakeProcess();
  let end = (): void => {};
  const hub = host.hub(new Promise((resolve) => end = resolve));
  const down = host.serve({ hub, drainOnSignal: true }).shutdown();
  host.send("SIGTERM");
  end();
  await down;
  await host.exits();
  assertEquals(host.steps, ["unlisten", "shutdown", "exit 0"]);
});

test("two servers of one process wait for one another before it exits", async () => {
  const host = new FakeProcess();
  let end = (): void => {};
  host.serve({ hub: host.hub(), drainOnSignal: soon, onStopped: () => void host.steps.push("a") });
  host.serve({
    hub: host.hub(new Promise((resolve) => end = resolve)),
    drainOnSignal: soon,
    onStopped: () => void host.steps.push("b"),
  });
  assertEquals(host.heard, ["SIGINT", "SIGTERM"]);
  host.send("SIGTERM");
  await eventually(() => host.steps.includes("a"), { what: "the end of the first" });
  end();
  await host.exits();
  assertEquals(host.steps.slice(-2), ["b", "exit 0"]);
});

test("what failed is logged, and the process exits with 1 all the same", async () => {
  const host = new FakeProcess();
  const logged: string[] = [];
  const logger = { error: (line: string) => void logged.push(line) };
  const onStopped = () => Promise.reject(new Error("the journal is stuck"));
  host.serve({ hub: host.hub(), drainOnSignal: soon, logger, onStopped });
  host.send("SIGTERM");
  await host.exits();
  assertEquals(host.steps.at(-1), "exit 1");
  assertEquals(logged.length, 1);
  assertMatch(logged[0] ?? "", /the journal is stuck/);
});

test("a hub that never ends is cut after the lame duck, the spread and shutdownMs", async () => {
  const host = new FakeProcess();
  host.serve({ hub: host.hub(never), drainOnSignal: soon, shutdownMs: 10 });
  host.send("SIGTERM");
  await host.exits();
  assertEquals(host.steps, ["drain 5 7", "unlisten for ever", "cut", "exit 0"]);
});

test("an onStopped that never ends is given up within a second", async () => {
  const host = new FakeProcess();
  const server = host.serve({ onStopped: () => never, shutdownMs: 1 });
  await assertRejects(() => server.shutdown(), Error, "in vain for onStopped");
});

test("onStopped is called though a hub failed, and the hub's failure is told", async () => {
  const host = new FakeProcess();
  const hub = host.hub(Promise.reject(new Error("broken")));
  const server = host.serve({ hub, onStopped: () => void host.steps.push("stopped") });
  await assertRejects(() => server.shutdown(), Error, "broken");
  assertEquals(host.steps.at(-1), "stopped");
});

test("what cannot drain is shut down when the lame duck is over, not before", async () => {
  const host = new FakeProcess();
  const { shutdown } = host.hub();
  const server = host.serve({ hub: { shutdown } });
  const drained = server.drain(soon);
  assertEquals(host.steps, []);
  await drained;
  assertEquals(host.steps.toSorted(), ["shutdown", "unlisten"]);
});

test("a shutdown, or the signal of a drain, ends the drain's waiting at once", async () => {
  const host = new FakeProcess();
  const abort = new AbortController();
  const slow = { lameDuckMs: 60_000, spreadMs: 60_000 };
  const first = host.serve({ hub: host.hub() });
  const drained = first.drain(slow);
  await first.shutdown();
  await drained;
  const second = host.serve({ hub: host.hub() }).drain({ ...slow, signal: abort.signal });
  abort.abort();
  await second;
  const steps = ["drain 60000 60000", "hurry", "unlisten"];
  assertEquals(host.steps, [...steps, ...steps]);
});

test("numbers and signals out of bounds are refused before anything listens", async () => {
  const refused = [
    { lameDuckMs: -1 },
    { spreadMs: NaN },
    // What a JavaScript program may say, whatever the types do.
    { signals: ["SIGKILL" as StopSignal] },
  ];
  for (const drainOnSignal of refused) {
    assertThrows(() => readListenOptions({ drainOnSignal }), ConfigError);
  }
  const server = new FakeProcess().serve({});
  await assertRejects(() => server.drain({ lameDuckMs: -1 }), ConfigError, "lameDuckMs");
  await server.shutdown();
});

test("this runtime has a process whose signals can be heard", () => {
  const process = thisProcess();
  const listener = (): void => {};
  process.on("SIGHUP", listener);
  process.off("SIGHUP", listener);
});

test("exactly the signals are heard, once each, that somebody who is left wants", () => {
  const signals = fc.uniqueArray(fc.constantFrom<StopSignal>("SIGTERM", "SIGINT", "SIGHUP"));
  const steps = fc.array(fc.record({ signals, leaves: fc.option(fc.nat(9)) }), { maxLength: 12 });
  fc.assert(fc.property(steps, (all) => {
    const host = new FakeProcess();
    const members: { wants: StopSignal[]; leave: (() => void) | null }[] = [];
    for (const { signals: wants, leaves } of all) {
      const leave = stopOnSignals(host, { signals: wants, stop: () => Promise.resolve() });
      members.push({ wants, leave });
      const gone = leaves === null ? undefined : members[leaves];
      gone?.leave?.();
      if (gone !== undefined) gone.leave = null;
      const wanted = members.flatMap((one) => one.leave === null ? [] : one.wants);
      assertEquals(host.heard, [...new Set(wanted)].sort());
    }
  }));
});
