/**
 * A pod over a journal, in the test's own process and on a port, so that the test holds what is behind
 * the journal; and what its clients may never be told. Runs under Deno.
 *
 * @module
 */
import type { FixtureJournalOpener } from "../../src/testing/fixture/core.ts";
import { createFixture, type Fixture } from "../../src/testing/fixture/fixture.ts";
import type { FixtureOptions } from "../../src/testing/fixture/options.ts";
import type { FixtureState } from "../../src/testing/fixture/state.ts";
import { listen, type ServedHub } from "../../src/testing/serve.ts";
import type { WireHello } from "../suites/lib/audit.ts";
import { type Block, BlockReader } from "../suites/lib/blocks.ts";
import { Witness } from "./journal_witness.ts";
import { type EventStream, openStream } from "./stream.ts";

/** How long a publication may take until it is answered, in milliseconds. */
const PUBLISH_MS = 12_000;

/** How long an answer to a cursor may take, to its last event, in milliseconds. */
const HELLO_MS = 6_000;

/** How a publication was answered. */
export interface Outcome {
  /** The status: 200, or what it was refused with. */
  readonly status: number;
  /** The offsets; none when it was refused. */
  readonly offsets: readonly number[];
  /** The refusal's code; `""` when it was stored. */
  readonly code: string;
  /** What the refusal says. */
  readonly message: string;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
}

/** What a client was told that presented a cursor. */
export interface Answer {
  /** The verdict; `null` when the stream ended without a hello. */
  readonly verdict: string | null;
  /** The epoch of the hello. */
  readonly epoch: string;
  /** The data that followed, up to the head that the hello told. */
  readonly data: readonly string[];
  /** Whether that was all that the hello owes: else the stream was ended before. */
  readonly whole: boolean;
}

/** A pod. */
export class Pod {
  /** What its clients have seen; of another pod over the same journal it may be the same. */
  readonly witness: Witness;
  readonly #fixture: Fixture;
  readonly #server: ServedHub;
  readonly #streams: EventStream[] = [];

  private constructor(fixture: Fixture, server: ServedHub, witness: Witness) {
    this.#fixture = fixture;
    this.#server = server;
    this.witness = witness;
  }

  /**
   * Starts one.
   *
   * @param open Opens its journal.
   * @param options Its settings.
   * @param witness Of a pod before it.
   * @returns The pod, when it listens.
   */
  static async start(
    open: FixtureJournalOpener,
    options: Omit<FixtureOptions, "journal"> = {},
    witness: Witness = new Witness(),
  ): Promise<Pod> {
    const fixture = createFixture({ ...options, journal: "the test's own" }, {
      journal: open,
    });
    try {
      await fixture.ready;
      const stop = (options: { readonly signal?: AbortSignal } = {}): Promise<void> =>
        fixture.close(options);
      const server = await listen((request, host) => fixture.fetch(request, host), {
        shutdown: stop,
      });
      return new Pod(fixture, server, witness);
    } catch (error) {
      await fixture.close();
      throw error;
    }
  }

  /** Where its streams are. */
  get url(): string {
    return `${this.#server.url}/events`;
  }

  /** What it tells of itself. */
  async state(): Promise<FixtureState> {
    const response = await this.#fixture.fetch(new Request(`${this.#server.url}/control/state`));
    return await response.json() as FixtureState;
  }

  /** Its epoch. */
  async epoch(): Promise<string> {
    return (await this.state()).position.epoch;
  }

  /**
   * Publishes one event, by a request.
   *
   * @param data Its data.
   * @returns How that was answered.
   * @throws {Error} When it is not answered within 12 s.
   */
  async publish(data: string): Promise<Outcome> {
    const before = await this.epoch();
    const begun = performance.now();
    const response = await fetch(`${this.#server.url}/control/publish`, {
      method: "POST",
      body: JSON.stringify({ name: "n", data }),
      signal: AbortSignal.timeout(PUBLISH_MS),
    });
    const { offsets = [], code = "", error = "" } = await response.json() as {
      readonly offsets?: readonly string[];
      readonly code?: string;
      readonly error?: string;
    };
    const tookMs = performance.now() - begun;
    const numbers = offsets.map(Number);
    // Unless the epoch has changed meanwhile: then it is not known which one the offset is of.
    if (before === await this.epoch()) {
      for (const offset of numbers) this.witness.saw(`${before}:${offset}`, data);
    }
    return { status: response.status, offsets: numbers, code, message: error, tookMs };
  }

  /**
   * Opens a stream of everything.
   *
   * @param cursor What it presents; nothing.
   * @returns The stream. It is closed with the pod.
   */
  async stream(cursor?: string): Promise<EventStream> {
    const stream = await openStream(this.url, {
      ...(cursor === undefined ? {} : { cursor }),
      onBlock: (block) => this.#note(block),
    });
    this.#streams.push(stream);
    return stream;
  }

  /**
   * Presents a cursor, and leaves when everything has come that the hello owes.
   *
   * @param cursor The cursor.
   * @returns What was told.
   * @throws {Error} When it is resumed and not given what others have seen since, or not in time.
   */
  async ask(cursor: string): Promise<Answer> {
    const blocks = await readUntil(this.url, cursor, isAnswered);
    const hello = helloOf(blocks);
    const events = blocks.filter((block) => block.kind === "event" && block.id !== null);
    for (const block of events) this.#note(block);
    if (hello === null) return { verdict: null, epoch: "", data: [], whole: false };
    const { verdict, epoch } = hello;
    const head = Number(hello.head);
    const data = events.flatMap((block) =>
      block.kind === "event" && offsetOf(block) <= head ? [block.data] : []
    );
    const whole = isAnswered(blocks);
    if (hello.resumed) {
      const owed = this.witness.after(cursor, head).slice(0, whole ? undefined : data.length);
      if (JSON.stringify(owed) !== JSON.stringify(data)) {
        throw new Error(
          `${cursor} was resumed with ${data}, others had ${owed}\n${
            blocks.map(({ raw }) => raw).join("\n--\n")
          }`,
        );
      }
    }
    return { verdict, epoch, data, whole };
  }

  /**
   * Presents every cursor that was ever seen.
   *
   * @returns How each was answered.
   * @throws {Error} When one is resumed with a hole, or another event under its number.
   */
  async askAll(): Promise<ReadonlyMap<string, Answer>> {
    const answers = new Map<string, Answer>();
    for (const cursor of this.witness.cursors) answers.set(cursor, await this.ask(cursor));
    return answers;
  }

  /** Ends it and its streams. */
  async stop(): Promise<void> {
    for (const stream of this.#streams) await stream.close();
    await this.#server.shutdown();
  }

  #note(block: Block): void {
    if (block.kind === "event" && block.id !== null) this.witness.saw(block.id, block.data);
  }
}

/**
 * Reads a stream until something holds, or it ends. Unlike `EventStream` it takes one that is ended
 * before its hello.
 */
async function readUntil(
  url: string,
  cursor: string,
  enough: (blocks: readonly Block[]) => boolean,
): Promise<readonly Block[]> {
  const blocks: Block[] = [];
  const parser = new BlockReader((block) => blocks.push(block));
  const abort = new AbortController();
  const headers = { "Last-Event-ID": cursor };
  const { body } = await fetch(url, { headers, signal: abort.signal });
  if (body === null) throw new Error("The stream has no body");
  const reader = body.getReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(tooLate(cursor, blocks))), HELLO_MS);
  });
  try {
    while (!enough(blocks)) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) break;
      parser.feed(value);
    }
  } finally {
    clearTimeout(timer);
    abort.abort();
    // The read that is under way ends by the abort.
    await reader.cancel().catch(() => {});
  }
  return blocks;
}

function tooLate(cursor: string, blocks: readonly Block[]): string {
  const told = blocks.map(({ raw }) => raw).join("\n--\n");
  return `${cursor} was not answered in full within ${HELLO_MS} ms\n${told}`;
}

function helloOf(blocks: readonly Block[]): WireHello | null {
  const hello = blocks.find((block) => block.kind === "event" && block.name === "sse:hello");
  return hello?.kind === "event" ? JSON.parse(hello.data) as WireHello : null;
}

/** Whether everything has come that the hello owes: an id says so, of an event or alone. */
function isAnswered(blocks: readonly Block[]): boolean {
  const hello = helloOf(blocks);
  if (hello === null) return false;
  if (!hello.resumed) return true;
  return blocks.some((block) => offsetOf(block) >= Number(hello.head));
}

function offsetOf(block: Block): number {
  const id = block.kind === "event" || block.kind === "id" ? block.id : null;
  return id === null ? -1 : Number(id.slice(17));
}
