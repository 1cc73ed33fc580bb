/**
 * A client of revision 1, as another implementation has one: it knows the eight fields of the hello,
 * passes over library frames that it was not told of, and stores each id as a browser does.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Scenarios } from "./pair.ts";

/** The hello of revision 1, with the types its fields have on the wire. */
const FIELDS = {
  wire: "number",
  epoch: "string",
  floor: "string",
  head: "string",
  resumed: "boolean",
  verdict: "string",
  keepalive_ms: "number",
  keepalive_event: "string",
} as const;

/** What one connection brought. */
interface Heard {
  readonly resumed: boolean;
  readonly verdict: string;
  readonly data: readonly string[];
  readonly reset: string | null;
}

/** Scenarios at any settings. */
export const revisionOne: Scenarios = {
  "a client of revision 1, which knows none of our additions, resumes here and hears of a restart":
    async (pair) => {
      const client = new RevisionOne(`${pair.fixture.url}/events`);
      const first = await client.connect(async () => {
        await pair.publish({ data: "seen", count: 3 });
      }, 4);
      assertEquals([first.resumed, first.verdict], [false, "fresh"]);
      assertEquals(first.data, ['{"type":"connected"}', "seen", "seen", "seen"]);

      await pair.publish({ data: "missed", count: 5 });
      const second = await client.connect(() => Promise.resolve(), 6);
      assertEquals([second.resumed, second.verdict], [true, "resumed"]);
      assertEquals(second.data.filter((data) => data === "missed").length, 5);

      const third = await client.connect(async () => {
        await pair.fixture.control("restart");
      }, Infinity);
      assertEquals([third.verdict, third.reset], ["resumed", "shutdown"]);
      const fourth = await client.connect(() => Promise.resolve(), 1);
      assertEquals([fourth.resumed, fourth.verdict], [false, "epoch_changed"]);
    },
};

class RevisionOne {
  readonly #url: string;
  #lastEventId = "";

  constructor(url: string) {
    this.#url = url;
  }

  /**
   * Connects, and reads until so many events have come, or the stream ends.
   *
   * @param opened Called when the hello has come.
   * @param count How many events, without those of the library.
   */
  async connect(opened: () => Promise<void>, count: number): Promise<Heard> {
    const headers: Record<string, string> = { "SSE-Wire": "1" };
    if (this.#lastEventId !== "") headers["Last-Event-ID"] = this.#lastEventId;
    const response = await fetch(this.#url, { headers });
    assertEquals(response.status, 200);
    const data: string[] = [];
    let hello: Record<string, unknown> | null = null;
    let reset: string | null = null;
    for await (const block of blocks(response)) {
      const lines = block.split("\n");
      const value = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const event = value("event") ?? "message";
      this.#lastEventId = value("id") ?? this.#lastEventId;
      const body = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
      if (body.length === 0) continue;
      if (event === "sse:hello") {
        hello = JSON.parse(body.join("\n")) as Record<string, unknown>;
        for (const [name, type] of Object.entries(FIELDS)) {
          assertEquals(typeof hello[name], type, name);
        }
        await opened();
      } else if (event === "sse:reset") {
        reset = String((JSON.parse(body.join("\n")) as Record<string, unknown>)["reason"]);
      } else if (!event.startsWith("sse:")) {
        data.push(body.join("\n"));
      }
      if (data.length >= count) break;
    }
    assert(hello !== null, "no hello came");
    return { resumed: hello["resumed"] === true, verdict: String(hello["verdict"]), data, reset };
  }
}

/** The blocks of a body, until it ends or the caller has enough. */
async function* blocks(response: Response): AsyncGenerator<string> {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const found = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = found.pop() ?? "";
      yield* found;
    }
  } finally {
    await reader.cancel();
  }
}
