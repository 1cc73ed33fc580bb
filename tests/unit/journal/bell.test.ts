import { assertEquals } from "@std/assert";
import { Bell } from "../../../src/journal/bell.ts";
import { test } from "../../support/test.ts";

/** Longer than any test may take. */
const LONG_MS = 600_000;

test("a ring wakes everybody who waits, once", async () => {
  const bell = new Bell();
  const { signal } = new AbortController();
  const woken: number[] = [];
  const waits = [1, 2, 3].map((n) => bell.wait(LONG_MS, signal).then(() => woken.push(n)));
  bell.ring();
  await Promise.all(waits);
  assertEquals(woken, [1, 2, 3]);
  bell.ring();
  assertEquals([woken.length, bell.rings], [3, 2]);
});

test("who begins to wait after a ring, or while others wake, waits for the next one", async () => {
  const bell = new Bell();
  const { signal } = new AbortController();
  bell.ring();
  let woken = 0;
  const again = bell.wait(LONG_MS, signal).then(() => {
    woken++;
    return bell.wait(LONG_MS, signal);
  });
  bell.ring();
  await Promise.resolve();
  await Promise.resolve();
  assertEquals(woken, 1);
  bell.ring();
  await again;
});

test("an abort ends a wait, and a wait that begins afterwards ends at once", async () => {
  const bell = new Bell();
  const abort = new AbortController();
  const waiting = bell.wait(LONG_MS, abort.signal);
  abort.abort();
  await waiting;
  await bell.wait(LONG_MS, abort.signal);
  assertEquals(bell.rings, 0);
});

test("a wait ends by itself when its time is over", async () => {
  const bell = new Bell();
  await bell.wait(5, new AbortController().signal);
  assertEquals(bell.rings, 0);
});

test("a wait that is over leaves no listener on its signal", async () => {
  const bell = new Bell();
  const listeners = new Set<unknown>();
  const { signal } = new AbortController();
  const counted = new Proxy(signal, {
    get(target, key) {
      if (key === "addEventListener") return (_: string, each: unknown) => listeners.add(each);
      if (key === "removeEventListener") {
        return (_: string, each: unknown) => listeners.delete(each);
      }
      return Reflect.get(target, key, target);
    },
  });
  for (let n = 0; n < 10; n++) {
    const waiting = bell.wait(LONG_MS, counted);
    assertEquals(listeners.size, 1);
    bell.ring();
    await waiting;
    assertEquals(listeners.size, 0);
  }
});
