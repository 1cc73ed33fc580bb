/**
 * A minute with a server that lies: what every lie must lead to, whatever it is.
 *
 * @module
 */
import { assertEquals, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import type { LifecycleRecord } from "../../../src/client/records.ts";
import type { StreamOptions } from "../../../src/client/types.ts";
import { eventually } from "../../support/poll.ts";
import {
  type Asked,
  HALF_CLOSE,
  type Script,
  type ScriptedServer,
  serving,
  STREAM,
} from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { at, frame, greeting, only, reaches, watch, type Watched } from "./edges.ts";

/** A lie, and what must come of it. */
export interface Lie {
  /** What the server does, as the end of a sentence. */
  readonly name: string;
  /** What it answers. */
  readonly answer: Script | ((asked: Asked) => Script);
  /** What the client says of each attempt. */
  readonly says: Partial<LifecycleRecord>;
  /** How long the client then waits in silence before it gives up: not at all unless said. */
  readonly silentMs?: number;
  /** Options of the stream. */
  readonly options?: Partial<StreamOptions>;
  /** The most requests of one attempt; 1. */
  readonly requests?: number;
}

const MINUTE_MS = 60_000;
/** With half a step's chance: at 0, 250, 750, 1750, 3750, 7750, 15 750, 30 750 and 45 750 ms. */
const ATTEMPTS = 9;
/** A real hello, and a frame that earns a cursor. */
const HONEST: Script = [STREAM, greeting({ head: 4 }), frame(5, "earned"), HALF_CLOSE];
const RETURNED = [STREAM, greeting({ verdict: "resumed", head: 6 }), frame(6, "replayed")];

/**
 * Registers the test of a lie that passes: the client comes back, at a bounded pace and with its
 * cursor, until the server says the truth.
 *
 * @param lie The lie.
 */
export function passing(lie: Lie): void {
  test(`a server that ${lie.name} is asked again at a bounded pace, and costs no cursor`, async () => {
    let lying = true;
    const answer = (asked: Asked): Script => {
      if (asked.number === 1) return HONEST;
      return lying ? answerOf(lie, asked) : RETURNED;
    };
    await serving(answer, async (server) => {
      const watched = watch({ url: `${server.origin}/`, ...lie.options });
      const { stream, clock, records, frames } = watched;
      stream.start();
      await reaches(watched, "backoff");
      const begun = records.length;
      const end = clock.now() + MINUTE_MS;
      const said = (): LifecycleRecord[] =>
        records.slice(begun).filter(({ kind }) => kind === lie.says.kind);
      while (clock.now() + clock.left < end) {
        clock.skip();
        await given(lie, watched, server);
        assertEquals(stream.cursor(), at(5));
        assertLessOrEqual(said().length, ATTEMPTS);
      }
      if (stream.state() === "connecting") clock.skip();
      await server.empty();
      // It has not given up, either.
      assertGreaterOrEqual(said().length, 3);
      for (const record of said()) {
        assertEquals<unknown>({ ...record, ...lie.says }, record);
        assertLessOrEqual("detail" in record ? record.detail.length : 0, 200);
      }
      const asked = server.asked.slice(1);
      assertLessOrEqual(asked.length, said().length * (lie.requests ?? 1));
      for (const { headers } of asked) assertEquals(headers.get("Last-Event-ID"), at(5));

      lying = false;
      clock.skip();
      await eventually(() => stream.cursor() === at(6), { what: "the truth", everyMs: 1 });
      assertEquals(frames.map(({ data }) => data), ["earned", "replayed"]);
      stream.stop();
      await server.empty();
      assertEquals([stream.cursor(), clock.pending], [at(6), 0]);
    });
  });
}

/**
 * Registers the test of an answer that is final: the client stops, and asks no more.
 *
 * @param lie The answer.
 */
export function final(lie: Lie): void {
  test(`a server that ${lie.name} stops the stream, which keeps its cursor`, async () => {
    const answer = (asked: Asked): Script =>
      asked.number === 1 ? HONEST : asked.number === 2 ? answerOf(lie, asked) : RETURNED;
    await serving(answer, async (server) => {
      const watched = watch({ url: `${server.origin}/`, ...lie.options });
      const { stream, clock, records } = watched;
      stream.start();
      await reaches(watched, "backoff");
      clock.skip();
      await reaches(watched, "stopped");
      const [said, ...more] = only(records, "connect_failed");
      assertEquals<unknown>({ ...said, ...lie.says }, said);
      await server.empty();
      assertEquals([more.length, stream.cursor(), clock.pending], [0, at(5), 0]);
      assertEquals(server.asked.length, 2);
      stream.start();
      await eventually(() => stream.cursor() === at(6), { what: "the truth", everyMs: 1 });
      stream.stop();
      await server.empty();
    });
  });
}

function answerOf({ answer }: Lie, asked: Asked): Script {
  return typeof answer === "function" ? answer(asked) : answer;
}

/** Waits until an attempt was given up, or for the silence after which it will be. */
async function given(lie: Lie, watched: Watched, server: ScriptedServer): Promise<void> {
  const { stream, clock, records } = watched;
  await eventually(() => {
    if (stream.state() === "backoff") return true;
    const [attempt] = only(records, "state").slice(-1);
    return stream.state() === "connecting" && clock.left === lie.silentMs &&
      server.asked.length === attempt?.generation;
  }, {
    what: `the end of an attempt: ${stream.state()}, ${JSON.stringify(records.slice(-4))}`,
    everyMs: 1,
  });
}
