/**
 * Other implementations of revision 1: a server that has none of our additions, and one of a later
 * revision. What a client must not need, and what it must not mind.
 *
 * @module
 */
import { assertEquals, assertGreaterOrEqual } from "@std/assert";
import { ClientProcess } from "../../support/client_process.ts";
import type { ClientStream } from "../../support/client_stream.ts";
import type { StreamDescription } from "../../support/client_protocol.ts";
import type { ClientRuntime } from "../../support/runtimes.ts";
import {
  type Asked,
  HALF_CLOSE,
  head,
  type Script,
  type ScriptedServer,
  serving,
  STREAM,
} from "../../support/scripted_server.ts";
import { within } from "../lib/within.ts";
import { causes } from "./connect.ts";

const EPOCH = "00c0ffee00c0ffee";
const SCENARIO_MS = 30_000;
const NO_CONTENT: Script = [head(204), HALF_CLOSE];
let names = 0;

/** The hello of revision 1, and nothing more. */
const HELLO = {
  wire: 1,
  epoch: EPOCH,
  floor: "0",
  head: "0",
  resumed: false,
  verdict: "fresh",
  keepalive_ms: 15_000,
  keepalive_event: "sse:keepalive",
};

/** A stream of a client, and the scripted server it talks to. */
interface Talk {
  readonly stream: ClientStream;
  /** The requests for a stream so far. */
  readonly gets: () => readonly Asked[];
  /** The posts so far. */
  readonly posts: () => readonly Asked[];
  /** Lets the first stream's script go on. */
  go(): void;
}

interface Scenario {
  /**
   * What a stream is answered with, after the response's head.
   *
   * @param index Which stream, from 0.
   * @param told Settles when {@linkcode Talk.go} was called.
   */
  script(index: number, told: Promise<void>): Script;
  readonly given?: (origin: string) => Partial<StreamDescription>;
  expect(talk: Talk): Promise<void>;
}

const RESUMED = { resumed: true, verdict: "resumed" };

const scenarios: Readonly<Record<string, Scenario>> = {
  "a server that names no connection and writes no id alone is resumed from its frames": {
    script: (index, told) =>
      index === 0
        ? [opening({ head: "3" }), frame(4), frame(5), told, HALF_CLOSE]
        : [opening({ head: "7", ...RESUMED }), frame(6), frame(7)],
    async expect({ stream, gets, go }) {
      await stream.until("2 frames", () => stream.offsets.length === 2);
      go();
      await stream.until("4 frames", () => stream.offsets.length === 4);
      assertEquals(stream.offsets, [4, 5, 6, 7]);
      assertEquals(stream.records("hello").map(({ verdict }) => verdict), ["fresh", "resumed"]);
      assertEquals(causes(stream), [{ cause: "hello", full: true }]);
      const [first, second] = gets().map(({ headers }) => headers);
      assertEquals(first?.get("accept"), "text/event-stream");
      assertEquals([first?.get("sse-wire"), first?.get("sse-lag")], ["1", "1"]);
      assertEquals(first?.get("last-event-id"), null);
      assertEquals(second?.get("last-event-id"), `${EPOCH}:5`);
    },
  },

  "of a server that had nothing to say the head of its hello is presented": {
    script: (index, told) =>
      index === 0
        ? [opening({ head: "12" }), told, HALF_CLOSE]
        : [opening({ head: "12", ...RESUMED })],
    async expect({ stream, gets, go }) {
      await stream.next("revalidated");
      go();
      await stream.until("the second hello", () => stream.records("hello")[1]);
      assertEquals(gets()[1]?.headers.get("last-event-id"), `${EPOCH}:12`);
    },
  },

  "what a server sends again is not handed out again": {
    script: () => [opening(), frame(1), frame(2), frame(1), frame(2), frame(3)],
    async expect({ stream }) {
      await stream.until("offset 3", () => stream.offsets.at(-1) === 3);
      assertEquals(stream.offsets, [1, 2, 3]);
      assertEquals(stream.records("duplicate_frame").length, 2);
    },
  },

  "a frame whose id is of another epoch, or none, is handed out, and moves no cursor": {
    script: () => [
      opening(),
      frame(1),
      "id: 7\ndata: no cursor\n\n",
      "id: 0123456789abcdef:5\ndata: another epoch\n\n",
      "id:\ndata: empty\n\n",
    ],
    async expect({ stream }) {
      await stream.until("4 frames", () => stream.frames.length === 4);
      assertEquals(stream.frames.map(({ data, id }) => [data, id]), [
        ["x", `${EPOCH}:1`],
        ["no cursor", "7"],
        ["another epoch", "0123456789abcdef:5"],
        ["empty", null],
      ]);
      assertEquals(stream.records("bad_cursor").map(({ reason }) => reason), [
        "malformed",
        "foreign_epoch",
      ]);
      assertEquals((await stream.order({ do: "look" })).cursor, `${EPOCH}:1`);
    },
  },

  "keepalives that are comments are acknowledged": {
    script: () => [opening({ keepalive_event: "" }), ": keepalive\n\n"],
    given: (origin) => ({ alive: { url: `${origin}/alive` }, headers: { "SSE-Client": "tag" } }),
    async expect({ stream, posts }) {
      assertEquals((await stream.next("alive_ack")).status, 204);
      const [post] = posts();
      assertEquals([post?.target, post?.headers.get("sse-client")], ["/alive", "tag"]);
    },
  },

  "a reset is a disconnect, after which retry: is kept to": {
    script: (index, told) =>
      index > 0 ? [opening({ head: "9", verdict: "gap_floor" })] : [
        opening().replace("retry: 100", "retry: 400"),
        frame(1),
        told,
        'event: sse:reset\ndata: {"reason":"slow"}\n\n',
        HALF_CLOSE,
      ],
    given: () => ({ timing: { stableMs: 30_000, baseMs: 1 } }),
    async expect({ stream, go }) {
      await stream.until("a frame", () => stream.frames[0]);
      go();
      assertEquals((await stream.next("reset")).reason, "slow");
      assertGreaterOrEqual((await stream.becomes("backoff")).waitMs ?? 0, 400);
      await stream.until("the second run", () => stream.told("revalidated")[1]);
      const full = { cause: "hello", full: true };
      assertEquals(causes(stream), [full, full]);
    },
  },

  "what a later revision adds is passed over: fields, verdicts, frames of the library": {
    script: () => [
      opening({ verdict: "gap_novel", novelty: [1] }),
      'event: sse:novelty\ndata: {"x":1}\n\n',
      frame(1),
    ],
    async expect({ stream }) {
      assertEquals((await stream.next("unknown_frame")).type, "sse:novelty");
      await stream.until("a frame", () => stream.frames[0]);
      assertEquals(stream.offsets, [1]);
      assertEquals(stream.records("hello").map(({ verdict }): string => verdict), ["gap_novel"]);
    },
  },

  "a revision it does not speak is a failed attempt": {
    script: () => [opening({ wire: 2 })],
    async expect({ stream }) {
      assertEquals((await stream.next("wire_unsupported")).wire, 2);
      assertEquals((await stream.next("connect_failed")).reason, "wire_unsupported");
      assertEquals(stream.frames, []);
    },
  },

  "a stream that does not begin with a hello is a failed attempt": {
    script: () => ["retry: 100\n\n", frame(1), opening()],
    async expect({ stream }) {
      assertEquals((await stream.next("connect_failed")).reason, "hello_missing");
      assertEquals(stream.frames, []);
    },
  },

  "a stream that is written byte by byte is the same stream": {
    script: () =>
      Array.from(
        new TextEncoder().encode(opening() + frame(1, "é\ndata: ✓") + frame(2)),
        (byte) => Uint8Array.of(byte),
      ),
    async expect({ stream }) {
      await stream.until("2 frames", () => stream.frames[1]);
      assertEquals(stream.frames.map(({ data }) => data), ["é\n✓", "x"]);
    },
  },
};

/** How a stream of revision 1 begins. */
function opening(hello: Readonly<Record<string, unknown>> = {}): string {
  return `retry: 100\n\nevent: sse:hello\ndata: ${JSON.stringify({ ...HELLO, ...hello })}\n\n`;
}

function frame(offset: number, data = "x"): string {
  return `id: ${EPOCH}:${offset}\ndata: ${data}\n\n`;
}

/**
 * Registers them.
 *
 * @param runtime Where the client runs.
 */
export function otherServers(runtime: ClientRuntime): void {
  Deno.test(`${runtime.name} client: servers of another implementation`, async (context) => {
    const client = await ClientProcess.start(runtime);
    try {
      for (const [name, scenario] of Object.entries(scenarios)) {
        await context.step(name, () => within(SCENARIO_MS, () => talk(client, scenario)));
      }
    } finally {
      await client.close();
    }
  });
}

async function talk(client: ClientProcess, { script, given, expect }: Scenario): Promise<void> {
  const { promise: told, resolve: go } = Promise.withResolvers<void>();
  let streams = 0;
  const answer = ({ method }: Asked): Script =>
    method === "POST" ? NO_CONTENT : [STREAM, ...script(streams++, told)];
  await serving(answer, async (server: ScriptedServer) => {
    const stream = await client.create(`stream-${++names}`, {
      url: `${server.origin}/events`,
      timing: { baseMs: 20, capMs: 100, stableMs: 0 },
      ...given?.(server.origin),
    });
    await stream.order({ do: "start" });
    const by = (method: string) => () => server.asked.filter((asked) => asked.method === method);
    await expect({ stream, gets: by("GET"), posts: by("POST"), go });
    await stream.order({ do: "stop" });
  });
}
