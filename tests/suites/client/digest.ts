/**
 * The digest: an application that shows subjects is brought up to date by what has changed alone.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ClientStream } from "../../support/client_stream.ts";
import type { Pair, Scenarios } from "./pair.ts";

/** Scenarios at any settings. */
export const digest: Scenarios = {
  "what changed is fetched, what went is dropped, and the rest is left alone": async (pair) => {
    const { stream, refs } = await showing(pair, 5);
    const [changed, gone, forbidden, ...rest] = refs;
    await pair.fixture.control("mutate", { kind: "chat", ref: changed });
    await pair.fixture.control("mutate", { kind: "chat", ref: gone, status: "gone" });
    await pair.fixture.control("mutate", { kind: "chat", ref: forbidden, status: "forbidden" });
    await wake(stream, 1);
    assertEquals(stream.records("digest").map(({ kind: _, at: __, ...found }) => found), [
      { changed: 1, removed: 2, mustRefetch: false },
    ]);
    const { shown, versions } = await stream.order({ do: "look" });
    assertEquals(shown, {
      [`chat/${changed}`]: "v2",
      ...Object.fromEntries(rest.map((ref) => [`chat/${ref}`, "v1"])),
    });
    assertEquals(versions?.subjects.length, 1 + rest.length);
  },

  "many subjects are asked about in several requests": async (pair) => {
    const { stream, refs } = await showing(pair, 300);
    await pair.fixture.control("mutate", { kind: "chat", ref: refs[0] });
    await pair.fixture.control("mutate", { kind: "chat", ref: refs[299] });
    await wake(stream, 1);
    assertEquals(stream.records("digest")[0]?.changed, 2);
    const { shown } = await stream.order({ do: "look" });
    assertEquals([shown[`chat/${refs[0]}`], shown[`chat/${refs[299]}`]], ["v2", "v2"]);
  },

  "a digest that takes too long fails the run, which is owed until one succeeds": async (pair) => {
    const { stream, refs } = await showing(pair, 1, { digestTimeoutMs: 200 });
    await pair.fixture.control("mutate", { kind: "chat", ref: refs[0] });
    await pair.fault("delay-digest", { ms: 60_000 });
    await stream.order({ do: "plan", plans: ["work", "work"] });
    await stream.order({ do: "page", signal: "visible" });
    const { error } = await stream.next("revalidate_failed");
    assert(String(error).startsWith("TimeoutError"), String(error));
    await pair.fixture.control("delay-digest");
    await stream.order({ do: "reconnect" });
    await stream.until("the next run", () => stream.told("revalidated")[2]);
    assertEquals(stream.records("hello")[1]?.verdict, "resumed");
    assertEquals((await stream.order({ do: "look" })).shown, { [`chat/${refs[0]}`]: "v2" });
  },

  "a fetch that fails once fails the run, and the next hello makes up for it": async (pair) => {
    const { stream, refs } = await showing(pair, 1);
    await pair.fixture.control("mutate", { kind: "chat", ref: refs[0] });
    await pair.fixture.control("rest-fail-once");
    await stream.order({ do: "plan", plans: ["work", "work"] });
    await stream.order({ do: "page", signal: "visible" });
    assert(String((await stream.next("revalidate_failed")).error).includes("500"));
    await stream.order({ do: "reconnect" });
    await stream.until("the next run", () => stream.told("revalidated")[2]);
    assertEquals((await stream.order({ do: "look" })).shown, { [`chat/${refs[0]}`]: "v2" });
  },
};

/** A stream whose application shows so many new subjects. */
async function showing(
  pair: Pair,
  count: number,
  timing: { readonly digestTimeoutMs?: number } = {},
): Promise<{ stream: ClientStream; refs: readonly string[] }> {
  const application = pair.url("");
  const stream = await pair.open({ application, timing: { wakeThrottleMs: 0, ...timing } });
  const refs = Array.from({ length: count }, () => pair.server.tag());
  await stream.order({ do: "show", subjects: refs.map((ref) => ({ kind: "chat", ref })) });
  return { stream, refs };
}

/** Wakes the page, and waits for the application to be up to date. */
async function wake(stream: ClientStream, run: number): Promise<void> {
  await stream.order({ do: "plan", plans: ["work"] });
  await stream.order({ do: "page", signal: "visible" });
  const { how } = await stream.until("the run", () => stream.told("revalidated")[run]);
  assertEquals(how, "resolved");
}
