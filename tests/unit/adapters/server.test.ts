import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  type FetchHandler,
  guarded,
  type ListenOptions,
  readListenOptions,
  runningServer,
  type Stoppable,
} from "../../../src/adapters/server.ts";
import type { Closing } from "../../../src/adapters/stopping.ts";
import { ConfigError } from "../../../src/errors.ts";
import { test } from "../../support/test.ts";

const address = { hostname: "127.0.0.1", port: 1234 };

/** Writes down what is done to it. */
class Recorder {
  readonly steps: string[] = [];
  hub(name: string, outcome: Promise<void> = Promise.resolve()): Stoppable {
    return {
      shutdown: async () => {
        this.steps.push(`${name} told`);
        await outcome;
        this.steps.push(`${name} down`);
      },
    };
  }
  closing(ended: Promise<void> = Promise.resolve()): Closing {
    return {
      unlisten: (exits) => void this.steps.push(exits ? "unlisten for ever" : "unlisten"),
      ended: () => {
        this.steps.push("ended?");
        return ended;
      },
      now: () => void this.steps.push("cut"),
    };
  }
}

const never = new Promise<void>(() => {});

test("a shutdown closes the port first, then tells the hubs, then waits for the streams", async () => {
  const recorder = new Recorder();
  const options = { hub: [recorder.hub("a"), recorder.hub("b")] };
  await runningServer(address, options, recorder.closing()).shutdown();
  assertEquals(recorder.steps, ["unlisten", "a told", "b told", "a down", "b down", "ended?"]);
});

test("a second shutdown joins the first", async () => {
  const recorder = new Recorder();
  const server = runningServer(address, { hub: recorder.hub("a") }, recorder.closing());
  assert(server.shutdown() === server.shutdown());
  await server.shutdown();
  assertEquals(recorder.steps, ["unlisten", "a told", "a down", "ended?"]);
});

test("a hub whose shutdown fails neither keeps the port open nor goes unheard", async () => {
  const recorder = new Recorder();
  const broken = recorder.hub("a", Promise.reject(new Error("broken")));
  const server = runningServer(address, { hub: [broken, recorder.hub("b")] }, recorder.closing());
  await assertRejects(() => server.shutdown(), Error, "broken");
  assertEquals(recorder.steps, ["unlisten", "a told", "b told", "b down", "ended?"]);
});

test("a hub that does not end is given up after shutdownMs", async () => {
  const recorder = new Recorder();
  const options = { hub: recorder.hub("a", never), shutdownMs: 1 };
  await runningServer(address, options, recorder.closing()).shutdown();
  assertEquals(recorder.steps, ["unlisten", "a told", "ended?", "cut"]);
});

test("a hub hears by its signal that it is given up, and that is not its failure", async () => {
  const hub: Stoppable = {
    shutdown: (options) =>
      new Promise((_, reject) => {
        const signal = options?.signal;
        signal?.addEventListener("abort", () => reject(signal.reason));
      }),
  };
  await runningServer(address, { hub, shutdownMs: 1 }, new Recorder().closing()).shutdown();
});

test("what does not close gently is cut after shutdownMs", async () => {
  const recorder = new Recorder();
  await runningServer(address, { shutdownMs: 1 }, recorder.closing(never)).shutdown();
  assertEquals(recorder.steps, ["unlisten", "ended?", "cut"]);
});

test("the address is told once, and the URL is one that a client can use", () => {
  const told: unknown[] = [];
  const urlOf = (hostname: string): string => {
    const options: ListenOptions = { onListen: (where) => void told.push(where) };
    return runningServer({ hostname, port: 80 }, options, new Recorder().closing()).url;
  };
  assertEquals(urlOf("127.0.0.1"), "http://127.0.0.1:80");
  assertEquals(urlOf("::1"), "http://[::1]:80");
  assertEquals([urlOf("0.0.0.0"), urlOf("::")], ["http://localhost:80", "http://localhost:80"]);
  assertEquals(told.length, 4);
});

test("the defaults are port 8000 on every interface, and 0 asks for any port", () => {
  assertEquals(readListenOptions({}), { hostname: "0.0.0.0", port: 8000 });
  assertEquals(readListenOptions({ port: 0, hostname: "::1" }), { hostname: "::1", port: 0 });
});

test("a shutdownMs out of bounds is refused before anything listens", () => {
  for (const shutdownMs of [0, -1, NaN, 2 ** 31]) {
    assertThrows(() => readListenOptions({ shutdownMs }), ConfigError, "shutdownMs");
  }
});

test("a handler that throws, rejects or answers with nothing is logged once and becomes a 500", async () => {
  const broken: unknown[] = [
    () => {
      throw new Error("sync");
    },
    () => Promise.reject(new Error("async")),
    () => undefined,
  ];
  for (const handler of broken) {
    const logged: string[] = [];
    // What a JavaScript program may do, whatever the types say.
    const answer = guarded(handler as FetchHandler, { error: (line) => void logged.push(line) });
    const response = await answer(new Request("http://a/"), {});
    assertEquals(response.status, 500);
    assertEquals((await response.json()).code, "internal");
    assertEquals(logged.length, 1);
  }
});

test("a handler that answers at once is not made to answer later", () => {
  const response = new Response();
  assertEquals(guarded(() => response)(new Request("http://a/"), {}), response);
});
