/**
 * What does publishing cost inside the hub, by how many listen and how many do not? No sockets: each
 * connection ends in a sink that counts.
 *
 * A program: it prints one line of JSON per result. `bench/main.ts topics` runs it on each runtime.
 *
 * @module
 */
import { createHub } from "../src/hub/hub.ts";
import { loadEvent } from "./fixtures.ts";
import { type Effort, microsOf, printResults, type Result } from "./lib/inprocess.ts";
import { connectSink, type Tally } from "./lib/sink.ts";

/** A population of connections, and whom one event reaches. */
interface Scene {
  /** What it is, in words. */
  readonly name: string;
  /** How many connections listen to the topic that is published to. */
  readonly listeners: number;
  /** How many listen to others. */
  readonly others: number;
  /** How many topics those others share between them. */
  readonly otherTopics: number;
}

const SCENES: readonly Scene[] = [
  { name: "10 of 10 connections", listeners: 10, others: 0, otherTopics: 1 },
  { name: "10 of 10,000, one other topic", listeners: 10, others: 9_990, otherTopics: 1 },
  { name: "10 of 10,000, 9,990 other topics", listeners: 10, others: 9_990, otherTopics: 9_990 },
  { name: "1,000 of 1,000", listeners: 1_000, others: 0, otherTopics: 1 },
];

/** How many turns a flush may take before it counts as lost. */
const MAX_TURNS = 1_000;

async function measure(scene: Scene, effort: Effort): Promise<Result> {
  const hub = createHub({
    keepaliveMs: 3_600_000,
    replay: { maxEvents: 1024, ttlMs: 14_400_000 },
  });
  const heard: Tally = { chunks: 0, bytes: 0 };
  const unheard: Tally = { chunks: 0, bytes: 0 };
  for (let i = 0; i < scene.listeners; i++) connectSink(hub, heard, { topics: ["heard"] });
  for (let i = 0; i < scene.others; i++) {
    connectSink(hub, unheard, { topics: [`other:${i % scene.otherTopics}`] });
  }
  const quiet = unheard.bytes;
  let sequence = 0;
  const micros = await microsOf(effort, async () => {
    const before = heard.chunks;
    sequence++;
    hub.publish({ ...loadEvent(sequence, 1_700_000_000_000), topic: "heard" });
    // The frame leaves in a later microtask of the same turn; so does this.
    for (let turn = 0; heard.chunks < before + scene.listeners; turn++) {
      if (turn === MAX_TURNS) throw new Error("a frame did not arrive");
      await null;
    }
    if (heard.chunks !== before + scene.listeners) throw new Error("a frame arrived twice");
  });
  if (unheard.bytes !== quiet) throw new Error("a frame reached somebody who does not listen");
  await hub.shutdown();
  return {
    name: scene.name,
    values: { microsPerEvent: micros, microsPerFrame: micros / scene.listeners },
  };
}

async function topics(effort: Effort): Promise<Result[]> {
  const results: Result[] = [];
  for (const scene of SCENES) results.push(await measure(scene, effort));
  return results;
}

await printResults(topics);
