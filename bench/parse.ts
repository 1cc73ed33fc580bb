/**
 * How fast does the parser read? MB/s for each kind of stream, as large reads and as a socket's.
 *
 * A program: it prints one line of JSON per result. `bench/main.ts parse` runs it on each runtime.
 *
 * @module
 */
import { Parser } from "../src/wire/parser.ts";
import { encodeStream, events, KINDS, pieces } from "./fixtures.ts";
import { type Effort, microsOf, printResults, type Result } from "./lib/inprocess.ts";

/** One stream's bytes: large enough not to stay in the first cache, small enough to repeat. */
const STREAM_BYTES = 1_000_000;
const SEED = 7;

/** What a read brings: a chunk of the hub's largest size, and one segment of Ethernet. */
const READS = [{ name: "64 KiB reads", size: 65_536 }, { name: "1460 B reads", size: 1460 }];

/** The part of eventsource-parser that is used. */
interface Peer {
  createParser(handlers: { onEvent(): void }): { feed(text: string): void };
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
function theirs(peer: Peer): Read {
  return (chunks) => {
    let seen = 0;
    const decoder = new TextDecoder();
    const parser = peer.createParser({ onEvent: () => seen++ });
    for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }));
    return seen;
  };
}

async function installedPeer(): Promise<Peer | null> {
  const name: string = "eventsource-parser";
  try {
    return await import(name) as Peer;
  } catch {
    return null;
  }
}

async function parse(effort: Effort): Promise<Result[]> {
  const peer = await installedPeer();
  const readers: [string, Read][] = [["tidemark", ours]];
  if (peer !== null) readers.push(["eventsource-parser", theirs(peer)]);
  const results: Result[] = [];
  for (const kind of KINDS) {
    const one = encodeStream(events(kind, 1, SEED)).length;
    const list = events(kind, Math.max(2, Math.round(STREAM_BYTES / one)), SEED);
    const stream = encodeStream(list);
    for (const { name, size } of READS) {
      const chunks = pieces(stream, size);
      for (const [reader, read] of readers) {
        const micros = await microsOf(effort, () => {
          const seen = read(chunks);
          if (seen !== list.length) throw new Error(`${reader} saw ${seen} of ${list.length}`);
        });
        results.push({
          name: `${kind}, ${name}, ${reader}`,
          values: {
            mbPerSecond: stream.length / micros,
            eventsPerSecond: list.length / micros * 1e6,
          },
        });
      }
    }
  }
  return results;
}

await printResults(parse);
