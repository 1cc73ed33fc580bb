/** Keeping the cursor: how often the application's store is called, and with what. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { createSaver } from "../../../src/client/saver.ts";
import type { SavedCursor } from "../../../src/client/types.ts";
import { test } from "../../support/test.ts";
import { at, turns } from "./edges.ts";

/** A store of the application's, which answers when a test says so. */
class Store {
  readonly saved: number[] = [];
  readonly failures: unknown[] = [];
  /** What the next calls do; at once where there is nothing left. */
  readonly answers: (() => void | Promise<void>)[] = [];
  /** Whether a call is under way, and how many at most there were at once. */
  running = 0;
  most = 0;
  readonly saver = createSaver({
    load: () => null,
    save: (saved) => {
      this.saved.push(offsetOf(saved));
      return this.answers.shift()?.();
    },
  }, (error) => this.failures.push(error));

  put(offset: number): void {
    this.saver.put({ cursor: at(offset), unverified: false });
  }

  /** Makes the next call last until the returned function is called. */
  slow(): (error?: unknown) => void {
    let settle = (_?: unknown): void => {};
    const promise = new Promise<void>((resolve, reject) => {
      settle = (error) => error === undefined ? resolve() : reject(error);
    });
    this.answers.push(() => {
      this.most = Math.max(this.most, ++this.running);
      return promise.finally(() => this.running--);
    });
    return settle;
  }
}

function offsetOf({ cursor }: SavedCursor): number {
  return Number(cursor.split(":")[1]);
}

test("a thousand cursors of one turn are one call with the newest, at the end of the turn", async () => {
  const store = new Store();
  for (let i = 1; i <= 1000; i++) store.put(i);
  assertEquals(store.saved, []);
  await turns();
  assertEquals(store.saved, [1000]);
  await turns();
  assertEquals(store.saved, [1000]);
});

test("what is put in another turn is another call", async () => {
  const store = new Store();
  store.put(1);
  await turns();
  store.put(2);
  await turns();
  assertEquals(store.saved, [1, 2]);
});

test("a call that is under way is waited for, and of what came meanwhile the newest is kept", async () => {
  const store = new Store();
  const done = store.slow();
  store.put(1);
  await turns();
  for (const offset of [2, 3, 4]) {
    store.put(offset);
    await turns();
  }
  store.saver.flush();
  assertEquals(store.saved, [1]);
  done();
  await turns();
  assertEquals(store.saved, [1, 4]);
});

test("a store that throws, or rejects, is told of, and asked again with the next cursor", async () => {
  const store = new Store();
  const [thrown, rejected] = [new Error("quota"), new Error("gone")];
  store.answers.push(() => {
    throw thrown;
  });
  store.put(1);
  await turns();
  assertEquals([store.saved, store.failures], [[1], [thrown]]);
  const done = store.slow();
  store.put(2);
  await turns();
  store.put(3);
  await turns();
  done(rejected);
  await turns();
  assertEquals([store.saved, store.failures], [[1, 2, 3], [thrown, rejected]]);
});

test("a flush keeps what waits now, once, and nothing when nothing waits", async () => {
  const store = new Store();
  store.saver.flush();
  assertEquals(store.saved, []);
  store.put(1);
  store.put(2);
  store.saver.flush();
  assertEquals(store.saved, [2]);
  await turns();
  store.saver.flush();
  assertEquals(store.saved, [2]);
});

test("what the store itself puts while it is called is kept as well", async () => {
  const store = new Store();
  store.answers.push(() => store.put(9));
  store.put(1);
  await turns();
  assertEquals(store.saved, [1, 9]);
});

test("never two calls at once, each later than the one before, and the last put is the last kept", async () => {
  const act = fc.constantFrom("put", "settle", "fail", "flush", "turn");
  await fc.assert(fc.asyncProperty(fc.array(act, { maxLength: 40 }), async (acts) => {
    const store = new Store();
    let put = 0;
    const pending: ((error?: unknown) => void)[] = [];
    for (const each of acts) {
      // Every call is a slow one.
      while (store.answers.length === 0) pending.push(store.slow());
      if (each === "put") store.put(++put);
      else if (each === "settle") pending[store.saved.length - 1]?.();
      else if (each === "fail") pending[store.saved.length - 1]?.(new Error("full"));
      else if (each === "flush") store.saver.flush();
      else await turns();
      assertEquals(store.running <= 1, true);
    }
    for (let i = 0; i <= acts.length; i++) {
      await turns();
      pending[store.saved.length - 1]?.();
    }
    assertEquals(store.saved, [...new Set(store.saved)].sort((a, b) => a - b));
    assertEquals([store.saved.at(-1) ?? 0, store.most <= 1], [put, true]);
  }));
});
