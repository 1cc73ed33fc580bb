/**
 * A client under test and a running fixture, with a network between them that can fail: what a
 * scenario stands on.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { FixtureOptions } from "../../../src/testing/fixture/options.ts";
import { type Proxy, startProxy } from "../../browsers/support/proxy.ts";
import type { ClientProcess } from "../../support/client_process.ts";
import type { ClientStream } from "../../support/client_stream.ts";
import type { StreamDescription } from "../../support/client_protocol.ts";
import { type PublishBody, type RunningFixture, startFixture } from "../../support/fixture.ts";
import type { Runtime } from "../../support/runtimes.ts";
import { Ground } from "../lib/group.ts";

/** Scenarios by their names: sentences of behaviour. */
export type Scenarios = Readonly<Record<string, (pair: Pair) => Promise<void>>>;

/** A stream's options, but for where it is. */
export type Given = Partial<StreamDescription> & {
  /** The query of `/events`, with its `?`; none. */
  readonly query?: string;
};

/**
 * Quick steps of the backoff, and every end counts as one of a stable stream, after which a client
 * connects at once: so that most scenarios need not wait for the 1500 ms of the fixture's `retry:`.
 */
const QUICK = { baseMs: 30, capMs: 120, stableMs: 0 };
let names = 0;

/** The server's side: the fixture, which may be replaced, and the way to it. */
export class Place {
  readonly #runtime: Runtime;
  readonly #flags: FixtureOptions;
  readonly proxy: Proxy;
  fixture: RunningFixture;

  private constructor(fixture: RunningFixture, flags: FixtureOptions) {
    this.#runtime = fixture.runtime;
    this.#flags = flags;
    this.fixture = fixture;
    this.proxy = startProxy(portOf(fixture));
  }

  /**
   * Starts a fixture and the proxy in front of it.
   *
   * @param runtime Where.
   * @param flags The fixture's settings.
   */
  static async start(runtime: Runtime, flags: FixtureOptions): Promise<Place> {
    return new Place(await startFixture(runtime, flags), flags);
  }

  /** Starts another fixture, on another port, and leads new connections to it. */
  async replace(): Promise<void> {
    const old = this.fixture;
    const [fixture] = await Promise.all([startFixture(this.#runtime, this.#flags), old.stop()]);
    this.fixture = fixture;
    this.proxy.retarget(portOf(fixture));
  }

  /** Stops both. */
  async close(): Promise<void> {
    await this.proxy.close();
    await this.fixture.stop();
  }
}

/** The two ends of a scenario. */
export class Pair {
  readonly client: ClientProcess;
  readonly place: Place;
  readonly #ground: Ground;
  readonly #streams: ClientStream[] = [];
  readonly #cleanups: (() => unknown)[] = [];

  /**
   * @param client The client under test.
   * @param place The fixture, and the way to it.
   */
  constructor(client: ClientProcess, place: Place) {
    this.client = client;
    this.place = place;
    this.#ground = new Ground(place.fixture);
  }

  /** The fixture. */
  get fixture(): RunningFixture {
    return this.place.fixture;
  }

  /** The way to the fixture. */
  get proxy(): Proxy {
    return this.place.proxy;
  }

  /** The fixture's own suite's ground: for raw streams, and for traffic. */
  get server(): Ground {
    return this.#ground;
  }

  /** An address on the fixture, by way of the proxy. */
  url(path: string): string {
    return `http://127.0.0.1:${this.proxy.port}${path}`;
  }

  /**
   * Makes a stream of all topics, by way of the proxy; it is not started.
   *
   * @param given Its options.
   */
  async create({ query = "", timing, ...given }: Given = {}): Promise<ClientStream> {
    const description = {
      url: this.url(`/events${query}`),
      ...given,
      timing: { ...QUICK, ...timing },
    };
    const stream = await this.client.create(`stream-${++names}`, description);
    this.#streams.push(stream);
    return stream;
  }

  /**
   * Makes a stream and starts it.
   *
   * @param given Its options.
   * @returns The stream, once it is open and has caught up: its first revalidation has settled, the
   * connect hook's frame has come.
   */
  async open(given: Given = {}): Promise<ClientStream> {
    const stream = await this.create(given);
    await stream.order({ do: "start" });
    await stream.next("hello");
    await stream.until("the first frame", () => stream.frames[0]);
    // Of all that it told while it opened, a scenario waits for none again but what it names.
    for (const kind of ["state", "revalidate", "revalidated"] as const) stream.skip(kind);
    return stream;
  }

  /**
   * Publishes.
   *
   * @param body What.
   * @returns The offsets.
   */
  async publish(body: PublishBody = { data: "x" }): Promise<number[]> {
    return (await this.fixture.publish(body)).offsets.map(Number);
  }

  /**
   * Publishes one more event and waits for it, then compares all that came.
   *
   * @param stream The stream.
   * @param due The offsets of what it was to be given before, in order.
   */
  async expectExactly(stream: ClientStream, due: readonly number[]): Promise<void> {
    const [last = NaN] = await this.publish({ data: "last" });
    await stream.until(`offset ${last}`, () => stream.offsets.includes(last));
    assertEquals(stream.offsets, [...due, last]);
  }

  /**
   * Has the fixture commit a fault, until the scenario ends.
   *
   * @param path The route after `/control/`; its zero request is no fault.
   * @param body The fault.
   */
  async fault(path: string, body: unknown): Promise<void> {
    this.defer(() => this.fixture.control(path));
    await this.fixture.control(path, body);
  }

  /**
   * Has something done when the scenario ends, whatever becomes of it.
   *
   * @param cleanup What to do.
   */
  defer(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  /**
   * Stops what the scenario started, and undoes what it did to the network.
   *
   * @throws {Error} When a stream was told what a hub never says, though the scenario may not have
   * looked.
   */
  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.reverse()) await cleanup();
    this.proxy.stall(false);
    this.proxy.refuse(false);
    await this.#ground.close();
    if (this.client.ended) return;
    for (const stream of this.#streams) await stream.order({ do: "stop" });
    for (const stream of this.#streams) {
      for (const kind of ["duplicate_frame", "bad_cursor", "unknown_frame"] as const) {
        assertEquals(stream.records(kind), [], stream.tail());
      }
    }
  }
}

function portOf(fixture: RunningFixture): number {
  return Number(new URL(fixture.url).port);
}
