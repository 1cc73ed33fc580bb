/**
 * Bodies that come slowly, or never.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { mintHandler } from "../../../src/cluster/handlers/mint.ts";
import { subscribeHandler } from "../../../src/cluster/handlers/subscribe.ts";
import { BODY_MS, readBody } from "../../../src/hub/body.ts";
import { createHub } from "../../../src/hub/hub.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { test } from "../../support/test.ts";
import { Lines, settle } from "../hub/harness.ts";
import { CountedTickets, identify, told } from "./world.ts";

/** A request whose body never comes to its end, and whether anybody still waits for it. */
function unending(): { readonly request: Request; readonly seen: { cancelled: boolean } } {
  const seen = { cancelled: false };
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"topics":')),
    cancel: () => void (seen.cancelled = true),
  });
  const init: RequestInit & { duplex: "half" } = {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-User": "ada" },
    body,
    // Not every type of `RequestInit` has it.
    duplex: "half",
  };
  return { request: new Request("http://localhost/", init), seen };
}

test("a body that does not end is waited for for 30 s, and no longer, on every route that takes one", async () => {
  const clock = new FakeClock();
  const logger = new Lines();
  const hub = createHub({ clock, logger });
  const tickets = new CountedTickets();
  const questions = { identify, authorize: () => true, clock, logger };
  const subscriptions = {
    subscribe: () => Promise.resolve(null),
    unsubscribe: () => Promise.resolve(false),
  };
  const handlers = [
    [mintHandler({ ...questions, hub, tickets }), "408 ticket_timeout"],
    [subscribeHandler({ ...questions, subscriptions }), "408 subscribe_timeout"],
    [hub.digestHandler(() => []), "400 digest_invalid"],
  ] as const;
  for (const [handler, expected] of handlers) {
    const { request, seen } = unending();
    let answer: string | undefined;
    told(handler(request)).then((text) => answer = text);
    await settle();
    clock.advance(BODY_MS - 1);
    await settle();
    assertEquals([answer, seen.cancelled], [undefined, false]);
    clock.advance(1);
    await settle();
    assertEquals([answer, seen.cancelled], [expected, true]);
  }
  assertEquals([tickets.minted.length, logger.lines], [0, []]);
  await hub.shutdown();
});

test("a body that came in time leaves no timer behind, nor does one that fails or is too large", async () => {
  const clock = new FakeClock();
  let timers = 0;
  const counting = {
    ...{ now: () => clock.now(), monotonic: () => clock.monotonic() },
    every: clock.every.bind(clock),
    after(ms: number, callback: () => void) {
      const timer = clock.after(ms, callback);
      timers++;
      return {
        cancel(): void {
          timers--;
          timer.cancel();
        },
      };
    },
  };
  const post = (body: BodyInit) => new Request("http://localhost/", { method: "POST", body });
  assertEquals(await readBody(post("four"), 4, counting), new TextEncoder().encode("four"));
  assertEquals(await readBody(post("fiver"), 4, counting), "too_large");
  const { request } = unending();
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error("The client left")),
  });
  const failing = new Request(request, { body, duplex: "half" } as RequestInit);
  let failed = false;
  await readBody(failing, 4, counting).catch(() => failed = true);
  assert(failed);
  assertEquals(timers, 0);
});
