/** Whether there is a network, as a platform says that a test makes by hand. */
import { assertEquals } from "@std/assert";
import { platformOnline } from "../../../src/client/online.ts";
import { test } from "../../support/test.ts";

test("a network is there unless the platform says that it is not", () => {
  const cases: readonly (readonly [Parameters<typeof platformOnline>[0], boolean])[] = [
    [{}, true],
    [{ navigator: {} }, true],
    [{ navigator: { onLine: true } }, true],
    [{ navigator: { onLine: false } }, false],
  ];
  for (const [scope, expected] of cases) assertEquals(platformOnline(scope).online(), expected);
  // None of the runtimes of the tests says that it is offline.
  assertEquals(platformOnline().online(), true);
});

test("what the platform says later is read later", () => {
  const navigator = { onLine: true };
  const source = platformOnline({ navigator });
  navigator.onLine = false;
  assertEquals(source.online(), false);
});

test("each change is said, until the subscription ends; then no listener is left", () => {
  const listeners = new Map<string, Set<(event: Event) => void>>([["online", new Set()], [
    "offline",
    new Set(),
  ]]);
  const scope = {
    addEventListener: (type: string, listener: (event: Event) => void) =>
      void listeners.get(type)?.add(listener),
    removeEventListener: (type: string, listener: (event: Event) => void) =>
      void listeners.get(type)?.delete(listener),
  };
  const fire = (type: string): void =>
    listeners.get(type)?.forEach((listener) => listener(new Event(type)));
  const count = (): number => [...listeners.values()].reduce((sum, { size }) => sum + size, 0);
  const said: boolean[] = [];
  const source = platformOnline(scope);
  assertEquals(count(), 0);
  const leave = source.subscribe((up) => said.push(up));
  const leaveToo = source.subscribe(() => {});
  assertEquals(count(), 4);
  fire("offline");
  fire("online");
  fire("offline");
  assertEquals(said, [false, true, false]);
  leave();
  assertEquals(count(), 2);
  leaveToo();
  fire("online");
  assertEquals([said.length, count()], [3, 0]);
});

test("where nobody can listen there is nothing to hear", () => {
  const leave = platformOnline({}).subscribe(() => {
    throw new Error("There is nothing to say");
  });
  leave();
});
