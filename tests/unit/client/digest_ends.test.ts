import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createDigestClient, type DigestClientOptions } from "../../../src/client/digest.ts";
import type { Fetch } from "../../../src/client/types.ts";
import type { VersionSnapshot } from "../../../src/client/versions.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { EPOCH, honest, many, snapshotOf, tap } from "./digest_server.ts";

const nothing: VersionSnapshot = { epoch: EPOCH, subjects: [] };
const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** Where a check can be when it has to end, and whether what it held was let go. */
interface Stage {
  readonly options: Partial<DigestClientOptions>;
  /** It is there. */
  readonly reached: () => boolean;
  /** It has let go. */
  readonly released: () => boolean;
}

/** Each of them takes no notice of the signal by itself: the worst that an application hands in. */
const STAGES: Readonly<Record<string, () => Stage>> = {
  "the headers are awaited": () => {
    let asked = false;
    let sent = false;
    return {
      options: {
        headers: () => {
          asked = true;
          return never();
        },
        fetch: () => {
          sent = true;
          return never();
        },
      },
      reached: () => asked,
      released: () => !sent,
    };
  },
  "the head is awaited": () => {
    let signal: AbortSignal | null | undefined;
    return {
      options: {
        fetch: (_, init) => {
          signal = init?.signal;
          return never();
        },
      },
      reached: () => signal !== undefined,
      released: () => signal?.aborted === true,
    };
  },
  "the body is awaited": () => {
    let pulled = false;
    let cancelled = false;
    const body = new ReadableStream({
      pull() {
        pulled = true;
        return never();
      },
      cancel() {
        cancelled = true;
      },
    }, { highWaterMark: 0 });
    return {
      options: { fetch: () => Promise.resolve(new Response(body)) },
      reached: () => pulled,
      released: () => cancelled,
    };
  },
};

for (const [where, stage] of Object.entries(STAGES)) {
  test(`a check that takes too long ends in a TimeoutError while ${where}`, async () => {
    const { options, released } = stage();
    const client = createDigestClient({ url: "http://localhost/", timeoutMs: 20, ...options });
    const error = await assertRejects(() => client.check(nothing), DOMException);
    assertEquals(error.name, "TimeoutError");
    assertStringIncludes(error.message, "20 ms");
    await eventually(released, { what: "what the check held to be let go" });
  });

  test(`a signal ends a check with its reason while ${where}`, async () => {
    const { options, reached, released } = stage();
    const client = createDigestClient({ url: "http://localhost/", ...options });
    const controller = new AbortController();
    const reason = new Error("the page is leaving");
    const check = assertRejects(() => client.check(nothing, controller.signal));
    await eventually(reached, { what: "the check to be there" });
    controller.abort(reason);
    assertEquals(await check, reason);
    await eventually(released, { what: "what the check held to be let go" });
  });
}

/** A delay that nothing else asks for. */
const DELAY_MS = 12_345;

/**
 * Takes the timers of {@linkcode DELAY_MS} out of the platform's hands while a test runs.
 *
 * @param body The test. It gets the timers, each with whether it still runs, in order.
 */
async function withTimers(
  body: (timers: { running: boolean; fire(): void }[]) => Promise<void>,
): Promise<void> {
  const { setTimeout, clearTimeout } = globalThis;
  const timers: { running: boolean; fire(): void }[] = [];
  const patch = (name: string, value: unknown): void => {
    Object.defineProperty(globalThis, name, { configurable: true, writable: true, value });
  };
  patch("setTimeout", (callback: () => void, ms: number, ...rest: unknown[]) => {
    if (ms !== DELAY_MS) return setTimeout(callback, ms, ...rest);
    const timer = {
      running: true,
      fire(): void {
        if (timer.running) callback();
        timer.running = false;
      },
    };
    timers.push(timer);
    return timer;
  });
  patch("clearTimeout", (timer: unknown) => {
    const ours = timers.find((one) => one === timer);
    if (ours === undefined) clearTimeout(timer as number | undefined);
    else ours.running = false;
  });
  try {
    await body(timers);
  } finally {
    patch("setTimeout", setTimeout);
    patch("clearTimeout", clearTimeout);
  }
}

test("the time runs over the whole of a request, not from one byte to the next", async () => {
  await withTimers(async (timers) => {
    let dripped = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array([0x20]));
        // Only the timer that was there before the first byte ends this.
        if (++dripped === 100) timers[0]?.fire();
      },
    }, { highWaterMark: 0 });
    const fetch: Fetch = () => Promise.resolve(new Response(body));
    const client = createDigestClient({ url: "http://localhost/", timeoutMs: DELAY_MS, fetch });
    const error = await assertRejects(() => client.check(nothing), DOMException);
    assertEquals([error.name, timers.length], ["TimeoutError", 1]);
  });
});

test("each batch has the whole time, and no timer outlives its batch", async () => {
  await withTimers(async (timers) => {
    const { fetch, posts } = tap(({ body }, i) => {
      assertEquals(timers.map(({ running }) => running), [...Array(i).fill(false), true]);
      return honest(many(4), body);
    });
    const options = { url: "http://localhost/", timeoutMs: DELAY_MS, maxSubjects: 1, fetch };
    assertEquals((await createDigestClient(options).check(snapshotOf(many(4)))).mustRefetch, false);
    assertEquals([posts.length, timers.length], [4, 4]);
    assert(timers.every(({ running }) => !running));
  });
});

test("ten seconds are the default", async () => {
  const { setTimeout } = globalThis;
  const asked: unknown[] = [];
  const patch = (value: unknown): void => {
    Object.defineProperty(globalThis, "setTimeout", { configurable: true, writable: true, value });
  };
  patch((callback: () => void, ms?: number) => {
    asked.push(ms);
    return setTimeout(callback, ms);
  });
  try {
    const { fetch } = tap(({ body }) => honest([], body));
    await createDigestClient({ url: "http://localhost/", fetch }).check(nothing);
  } finally {
    patch(setTimeout);
  }
  assert(asked.includes(10_000), String(asked));
});

test("a signal that has already aborted lets nothing be sent, and one that aborts between batches no more", async () => {
  const { fetch, posts } = tap(({ body }) => honest(many(4), body));
  const client = createDigestClient({ url: "http://localhost/", fetch, maxSubjects: 1 });
  const gone = AbortSignal.abort();
  assertEquals(await assertRejects(() => client.check(nothing, gone)), gone.reason);
  assertEquals(posts.length, 0);
  const controller = new AbortController();
  const stopping = tap(({ body }, i) => {
    if (i === 1) queueMicrotask(() => controller.abort());
    return honest(many(4), body);
  });
  const other = createDigestClient({
    url: "http://localhost/",
    fetch: stopping.fetch,
    maxSubjects: 1,
  });
  const error = await assertRejects(
    () => other.check(snapshotOf(many(4)), controller.signal),
    DOMException,
  );
  assertEquals([error.name, stopping.posts.length], ["AbortError", 2]);
});

test("a head that comes after the end is let go, and a late failure is nobody's", async () => {
  let answer = (_: Response): void => {};
  let fail = (_: Error): void => {};
  let cancelled = false;
  const body = new ReadableStream({
    cancel() {
      cancelled = true;
    },
  });
  const heads = [
    new Promise<Response>((resolve) => answer = resolve),
    new Promise<Response>((_, reject) => fail = reject),
  ];
  for (const head of heads) {
    const fetch: Fetch = () => head;
    const client = createDigestClient({ url: "http://localhost/", timeoutMs: 10, fetch });
    await assertRejects(() => client.check(nothing), DOMException);
  }
  answer(new Response(body));
  // An unhandled rejection would fail the test on each runtime.
  fail(new Error("too late to matter"));
  await eventually(() => cancelled, { what: "the late body to be cancelled" });
});

test("headers that come after the end send nothing", async () => {
  let give = (_: Readonly<Record<string, string>>): void => {};
  const headers = new Promise<Readonly<Record<string, string>>>((resolve) => give = resolve);
  const { fetch, posts } = tap(({ body }) => honest([], body));
  const client = createDigestClient({ url: "http://localhost/", headers: () => headers, fetch });
  const controller = new AbortController();
  const check = assertRejects(() => client.check(nothing, controller.signal), DOMException);
  controller.abort();
  await check;
  give({ "X-Tag": "1" });
  for (let i = 0; i < 20; i++) await Promise.resolve();
  assertEquals(posts.length, 0);
});

test("a thousand checks leave no listener on a signal, however they end", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const listening = { now: 0, most: 0, ever: 0 };
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  const live = new Set<unknown>();
  const count = (): void => {
    listening.now = live.size;
    listening.most = Math.max(listening.most, live.size);
  };
  Object.defineProperty(signal, "addEventListener", {
    value: (...args: Parameters<typeof add>) => {
      live.add(args[1]);
      listening.ever++;
      count();
      add(...args);
    },
  });
  Object.defineProperty(signal, "removeEventListener", {
    value: (...args: Parameters<typeof remove>) => {
      live.delete(args[1]);
      count();
      remove(...args);
    },
  });
  const { fetch } = tap(({ body }, i) => {
    if (i % 5 === 1) return new Response(null, { status: 500 });
    if (i % 5 === 2) return new Response("no JSON");
    if (i % 5 === 3) throw new TypeError("network error");
    return honest(many(2), body);
  });
  const client = createDigestClient({ url: "http://localhost/", fetch, maxSubjects: 1 });
  const ends = new Map<string, number>();
  for (let i = 0; i < 1000; i++) {
    const end = await client.check(snapshotOf(many(2)), signal)
      .then(({ mustRefetch }) => String(mustRefetch), (error: Error) => error.constructor.name);
    ends.set(end, (ends.get(end) ?? 0) + 1);
    assertEquals(listening.now, 0);
  }
  assertEquals(listening.most, 1);
  assert(listening.ever >= 1000, "it does listen");
  assertEquals([...ends.keys()].sort(), ["DigestStatusError", "TypeError", "false", "true"]);
});
