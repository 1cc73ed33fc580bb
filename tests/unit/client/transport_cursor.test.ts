/** Which cursor an attempt presents, over real sockets and the runtime's own `fetch`. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Asked, serving, STREAM } from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { at, greeting, only, reaches, watch } from "./edges.ts";

/** A stream that connects to one address after the other, and what it presented to each. */
async function presented(
  addresses: readonly string[],
  answer: (asked: Asked) => Uint8Array = () => greeting({ head: 7 }),
): Promise<{ readonly cursors: (string | null)[]; readonly dropped: string[] }> {
  const cursors: (string | null)[] = [];
  const dropped: string[] = [];
  await serving((asked) => {
    cursors.push(asked.headers.get("Last-Event-ID"));
    return [STREAM, answer(asked)];
  }, async (server) => {
    let i = 0;
    const watched = watch({ url: () => `${server.origin}${addresses[i++] ?? "/"}` });
    const { stream, records } = watched;
    stream.start();
    await reaches(watched, "open");
    while (i < addresses.length) {
      stream.reconnect();
      await reaches(watched, "open");
    }
    dropped.push(...only(records, "cursor_dropped").map(({ reason }) => reason));
    stream.stop();
    await server.empty();
  });
  return { cursors, dropped };
}

const HELD = at(7);
/** Two addresses one after the other, and whether the cursor of the first is good for the second. */
const TURNS: readonly (readonly [first: string, second: string, kept: boolean])[] = [
  ["/?topic=a", "/?topic=a", true],
  ["/?topic=a&topic=b", "/?topic=b&x=1&topic=a", true],
  ["/?topic=a&topic=b", "/?topic=b", true],
  ["/?topic=a&topic=a", "/?topic=a", true],
  ["/?topic=a#topic=b", "/?topic=a", true],
  ["/?topic=%61", "/?topic=a", true],
  ["/", "/?topic=a", true],
  ["/", "/", true],
  ["/?topic=a", "/?topic=a&topic=b", false],
  ["/?topic=a", "/?topic=b", false],
  ["/?topic=a", "/", false],
  ["/?topic=a", "/#topic=a", false],
  ["/?topic=a", "/?topic=A", false],
];

for (const [first, second, kept] of TURNS) {
  test(`a cursor earned at ${first} ${kept ? "is" : "is not"} presented at ${second}`, async () => {
    const { cursors, dropped } = await presented([first, second, second]);
    // Dropped, it was earned again: the third request presents what the second one's hello said.
    assertEquals(cursors, [null, kept ? HELD : null, HELD]);
    assertEquals(dropped, kept ? [] : ["topics_grew"]);
  });
}

test("a cursor is presented exactly while each topic was there when it was earned", async () => {
  const topics = fc.subarray(["a", "b", "c"]);
  await fc.assert(
    fc.asyncProperty(fc.array(topics, { minLength: 2, maxLength: 5 }), async (lists) => {
      const addresses = lists.map((list) => `/?${list.map((name) => `topic=${name}`).join("&")}`);
      const { cursors } = await presented(addresses);
      const expected = lists.map((list, i) => {
        const before = lists[i - 1];
        if (before === undefined) return null;
        // No topic means all of them.
        const covered = before.length === 0 ||
          (list.length > 0 && list.every((name) => before.includes(name)));
        return covered ? HELD : null;
      });
      assertEquals(cursors, expected);
    }),
    { numRuns: 12 },
  );
});

test("a connection under way when the topics grow goes on without the cursor, once", async () => {
  const { cursors, dropped } = await presented(["/?topic=a", "/?topic=a&topic=b", "/?topic=b"]);
  assertEquals([cursors, dropped], [[null, null, HELD], ["topics_grew"]]);
});

test("a Last-Event-ID that the application hides in its headers is not sent, nor believed to have resumed", async () => {
  const causes: string[] = [];
  const seen: (string | null)[] = [];
  await serving(({ number, headers }) => {
    seen.push(headers.get("Last-Event-ID"));
    return [STREAM, greeting({ verdict: "resumed", head: number === 1 ? 9 : 10 })];
  }, async (server) => {
    const watched = watch({
      url: `${server.origin}/`,
      headers: { "last-event-id": at(3) },
      revalidate: ({ cause }) => void causes.push(cause),
    });
    const { stream } = watched;
    stream.start();
    await reaches(watched, "open");
    assertEquals([causes, stream.cursor()], [["hello"], at(9)]);
    stream.reconnect();
    await reaches(watched, "open");
    // What was earned stands above what is hidden; and that one has resumed.
    assertEquals([seen, causes], [[null, at(9)], ["hello"]]);
    stream.stop();
    await server.empty();
  });
});

test("a last_event_id that is hidden in the address is not believed to have resumed", async () => {
  const causes: string[] = [];
  await serving(() => [STREAM, greeting({ verdict: "resumed", head: 9 })], async (server) => {
    const watched = watch({
      url: `${server.origin}/?last_event_id=${at(3)}`,
      revalidate: ({ cause }) => void causes.push(cause),
    });
    watched.stream.start();
    await reaches(watched, "open");
    assertEquals([causes, watched.stream.cursor()], [["hello"], at(9)]);
    watched.stream.stop();
    await server.empty();
  });
});

test("after resetCursor nothing is presented, and the next hello is asked to be fresh", async () => {
  const { cursors } = await presented(["/"]);
  assertEquals(cursors, [null]);
  const seen: (string | null)[] = [];
  await serving(({ headers }) => {
    seen.push(headers.get("Last-Event-ID"));
    return [STREAM, greeting({ head: 7 })];
  }, async (server) => {
    const watched = watch({ url: `${server.origin}/` });
    watched.stream.start();
    await reaches(watched, "open");
    watched.stream.resetCursor();
    assertEquals([watched.stream.cursor(), watched.stream.state()], ["", "connecting"]);
    await reaches(watched, "open");
    watched.stream.reconnect();
    await reaches(watched, "open");
    assertEquals(seen, [null, null, HELD]);
    watched.stream.stop();
    await server.empty();
  });
});
