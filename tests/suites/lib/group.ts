/**
 * A group of tests that share one fixture server: each starts on a new hub, so that none sees what
 * another left behind.
 *
 * @module
 */
import { assertEquals, assertLess } from "@std/assert";
import type { FixtureOptions } from "../../../src/testing/fixture/options.ts";
import type { FixtureEvent } from "../../../src/testing/fixture/state.ts";
import { type PublishBody, type RunningFixture, startFixture } from "../../support/fixture.ts";
import { eventually } from "../../support/poll.ts";
import type { Capabilities, Runtime } from "../../support/runtimes.ts";
import { type EventStream, openStream, type StreamOptions } from "../../support/stream.ts";
import { within } from "./within.ts";

/** Tests by their names: sentences of behaviour. */
export type Tests = Readonly<Record<string, (ground: Ground) => Promise<void>>>;

const TEST_MS = 60_000;
let tags = 0;

/** What a test of a group stands on. */
export class Ground {
  /** The server. */
  readonly fixture: RunningFixture;
  readonly #streams: EventStream[] = [];
  readonly #cleanups: (() => void | Promise<void>)[] = [];

  /** @param fixture The server. */
  constructor(fixture: RunningFixture) {
    this.fixture = fixture;
  }

  /** What the runtime can do. */
  get can(): Capabilities {
    return this.fixture.runtime.can;
  }

  /** A tag that no other test uses. */
  tag(): string {
    return `tag-${++tags}`;
  }

  /**
   * Opens a stream, which is closed when the test ends.
   *
   * @param query The query of `/events`, with its `?`; none.
   * @param options How to open it.
   * @returns The stream, once its head has come.
   */
  async open(query = "", options: StreamOptions = {}): Promise<EventStream> {
    const stream = await openStream(`${this.fixture.url}/events${query}`, options);
    this.#streams.push(stream);
    return stream;
  }

  /**
   * Publishes.
   *
   * @param body What.
   * @returns The offsets.
   */
  async publish(body: PublishBody): Promise<number[]> {
    const { offsets } = await this.fixture.publish(body);
    return offsets.map(Number);
  }

  /**
   * Publishes one more event to everybody and waits for it: whatever was to come before it has come.
   *
   * @param streams Who is to get it.
   * @returns Its offset.
   */
  async settle(...streams: readonly EventStream[]): Promise<number> {
    const [offset = NaN] = await this.publish({ data: "settle" });
    await Promise.all(streams.map((stream) => stream.reached(offset)));
    return offset;
  }

  /** The epoch of the hub. */
  async epoch(): Promise<string> {
    return (await this.fixture.state()).position.epoch;
  }

  /**
   * Waits for an arrival or a departure.
   *
   * @param kind Which.
   * @param tag Whose.
   * @param timeoutMs How long.
   * @returns The event.
   */
  async presence(
    kind: "connected" | "disconnected",
    tag: string,
    timeoutMs = 10_000,
  ): Promise<FixtureEvent> {
    return await eventually(async () => {
      const { events } = await this.fixture.state();
      return events.find((event) => event.tag === tag && event.kind === kind);
    }, { what: `${tag} ${kind}`, timeoutMs, everyMs: 25 });
  }

  /**
   * Has something done when the test ends, whatever becomes of it.
   *
   * @param cleanup What to do.
   */
  defer(cleanup: () => void | Promise<void>): void {
    this.#cleanups.push(cleanup);
  }

  /**
   * Closes what the test opened.
   *
   * @throws What was wrong with any stream's bytes, though the test may not have looked.
   */
  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.reverse()) await cleanup();
    const closed = await Promise.allSettled(this.#streams.map((stream) => stream.close()));
    for (const result of closed) if (result.status === "rejected") throw result.reason;
  }
}

/**
 * Registers a group of tests.
 *
 * @param runtime Where the server runs.
 * @param idea What the group is about.
 * @param flags The fixture's settings.
 * @param tests The tests.
 */
export function group(
  runtime: Runtime,
  idea: string,
  flags: FixtureOptions,
  ...tests: readonly Tests[]
): void {
  Deno.test(`${runtime.name}: ${idea}`, async (context) => {
    const fixture = await startFixture(runtime, flags);
    try {
      for (const [name, body] of tests.flatMap((some) => Object.entries(some))) {
        await context.step(name, async () => {
          await fixture.control("restart");
          const ground = new Ground(fixture);
          const before = fixture.log().length;
          try {
            await within(TEST_MS, () => body(ground));
          } catch (error) {
            const log = fixture.log().slice(before);
            if (error instanceof Error && log !== "") error.message += `\n[server]\n${log}`;
            throw error;
          } finally {
            await ground.close();
          }
        });
      }
    } finally {
      const { code, killed, afterMs } = await fixture.stop();
      await context.step("the server stops within 5 s when it is told to", () => {
        assertEquals({ code, killed }, { code: 0, killed: false });
        assertLess(afterMs, 5000);
      });
    }
  });
}
