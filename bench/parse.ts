/**
 * How fast does the parser read? MB/s for streams in which most reads are small, and for each kind
 * of the hub's streams, as large reads and as a socket's.
 *
 * A program: it prints one line of JSON per result. `bench/main.ts parse` runs it on each runtime.
 *
 * @module
 */
import { createParser } from "eventsource-parser";
import { Parser } from "../src/wire/parser.ts";
import { encodeStream, events, KINDS, pieces } from "./fixtures.ts";
import { type Effort, microsOf, printResults, type Result } from "./lib/inprocess.ts";
import { median } from "./lib/stats.ts";
import { benchStream, STREAM_KINDS, type StreamKind } from "./streams.ts";

/** How much of each kind a stream holds: enough that the making of a parser is not what counts. */
const COUNTS: { readonly [K in StreamKind]: number } = {
  tokens: 256,
  named: 128,
  identified: 128,
  scripts: 128,
  heartbeats: 64,
  idle: 512,
  crumbs: 128,
  mixed: 16,
};

/** One stream's bytes: large enough not to stay in the first cache, small enough to repeat. */
const STREAM_BYTES = 1_000_000;
const SEED = 7;

/** What a read brings: a chunk of the hub's largest size, and one segment of Ethernet. */
const READS = [{ name: "64 KiB reads", size: 65_536 }, { name: "1460 B reads", size: 1460 }];

/** What is read. */
interface Input {
  readonly name: string;
  readonly chunks: readonly Uint8Array[];
  readonly events: number;
}

function* inputs(): Generator<Input> {
  for (const kind of STREAM_KINDS) {
    const { chunks, events } = benchStream(kind, COUNTS[kind], SEED);
    yield { name: kind, chunks, events: events.length };
  }
  for (const kind of KINDS) {
    const one = encodeStream(events(kind, 1, SEED)).length;
    const list = events(kind, Math.max(2, Math.round(STREAM_BYTES / one)), SEED);
    const stream = encodeStream(list);
    for (const { name, size } of READS) {
      yield { name: `${kind}, ${name}`, chunks: pieces(stream, size), events: list.length };
    }
  }
}

/** A way to read a stream: it returns how many events it saw. */
type Read = (chunks: readonly Uint8Array[]) => number;

function ours(chunks: readonly Uint8Array[]): number {
  let seen = 0;
  const parser = new Parser({ onEvent: () => seen++ });
  for (const chunk of chunks) parser.feed(chunk);
  return seen;
}

/** The peer reads text, so its decoder is part of the work, as it is of ours. */
function theirs(chunks: readonly Uint8Array[]): number {
  let seen = 0;
  const decoder = new TextDecoder();
  const parser = createParser({ onEvent: () => seen++ });
  for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }));
  return seen;
}

const READERS: readonly [string, Read][] = [["tidemark", ours], ["eventsource-parser", theirs]];

/** The readers take turns, so that a slow spell of the machine strikes both. */
async function medians(effort: Effort, { name, chunks, events }: Input): Promise<number[]> {
  const samples: number[][] = READERS.map(() => []);
  for (let round = 0; round < effort.samples; round++) {
    const warmMs = round === 0 ? effort.warmMs : effort.sampleMs / 4;
    for (const [i, [reader, read]] of READERS.entries()) {
      const micros = await microsOf({ ...effort, samples: 1, warmMs }, () => {
        const seen = read(chunks);
        if (seen !== events) throw new Error(`${name}: ${reader} saw ${seen} of ${events}`);
      });
      samples[i]?.push(micros);
    }
  }
  return samples.map(median);
}

async function parse(effort: Effort): Promise<Result[]> {
  const results: Result[] = [];
  for (const input of inputs()) {
    const bytes = input.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    for (const [i, micros] of (await medians(effort, input)).entries()) {
      results.push({
        name: `${input.name}, ${READERS[i]?.[0]}`,
        values: { mbPerSecond: bytes / micros, eventsPerSecond: input.events / micros * 1e6 },
      });
    }
  }
  return results;
}

await printResults(parse);
