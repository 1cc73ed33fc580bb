/**
 * What does a journal cost? Appends a second beside the driver alone, one at a time and in batches;
 * reading; from `publish` to a client's sink; and how soon a client begins to be resumed that is
 * 100,000 events behind.
 *
 * A program: it prints one line of JSON per result. `bench/main.ts journal` runs it on each runtime.
 *
 * @module
 */
import process from "node:process";
import { openHub } from "../../src/cluster/open_hub.ts";
import type { JournaledHub } from "../../src/cluster/types.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { type Peer, peerOf } from "../../src/hub/sink.ts";
import { loadEvent } from "../fixtures.ts";
import { type Effort, microsOf, printResults, type Result } from "../lib/inprocess.ts";
import { median } from "../lib/stats.ts";
import { type Load, type Store, STORES } from "./stores.ts";

const BATCH = 500;
const BEHIND = 100_000;
const PAGE = 512;
const RESUMES = 15;
const quick = process.argv.includes("--quick");
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let next = 0;
function load(): Load {
  const n = ++next;
  return { topic: `t${n % 10}`, data: loadEvent(n, 1_700_000_000_000).data };
}

function appendAll(journal: Journal, events: readonly Load[]): Promise<unknown> {
  const at = Date.now();
  return Promise.all(events.map((event) => journal.append({ name: "load", at, ...event })));
}

/** Ours and the driver alone, in turn, so that both meet the same weather. */
async function appends(
  name: string,
  store: Store,
  size: number,
  effort: Effort,
): Promise<Result[]> {
  const events = Array.from({ length: size }, load);
  const ours: number[] = [];
  const bare: number[] = [];
  const once = { samples: 1, sampleMs: effort.sampleMs, warmMs: effort.warmMs / effort.samples };
  for (let i = 0; i < effort.samples; i++) {
    const one = await microsOf(once, async () => void await appendAll(store.journal, events));
    const other = await microsOf(once, async () => void await store.bare(events));
    ours.push(one / size);
    bare.push(other / size);
  }
  const how = size === 1 ? "one at a time" : `in batches of ${size}`;
  const share = median(ours.map((micros, i) => (bare[i] ?? NaN) / micros));
  return [
    { name: `${name}, ${how}`, values: { perSecond: 1e6 / median(ours), share } },
    { name: `${name}, ${how}, the driver alone`, values: { perSecond: 1e6 / median(bare) } },
  ];
}

async function fill(journal: Journal, entries: number): Promise<void> {
  const { head } = await journal.window();
  for (let left = entries - head; left > 0; left -= BATCH) {
    await appendAll(journal, Array.from({ length: Math.min(left, BATCH) }, load));
  }
}

async function reading(name: string, journal: Journal): Promise<Result> {
  const { floor, head } = await journal.window();
  const start = performance.now();
  let read = 0;
  for (let after = floor - 1; after < head;) {
    const page = await journal.read({ after, topics: null, limit: PAGE });
    read += page.entries.length;
    after = page.through;
  }
  const held = head - floor + 1;
  if (read !== held) throw new Error(`${read} entries of ${held} were read`);
  const perSecond = read * 1000 / (performance.now() - start);
  return { name: `${name}, read in pages of ${PAGE}`, values: { perSecond } };
}

/** A client in the same process: calls back with each chunk. */
function connect(hub: JournaledHub, cursor: string, took: (bytes: Uint8Array) => void): Peer {
  const headers = new Headers(cursor === "" ? {} : { "Last-Event-ID": cursor });
  const { body } = hub.serve(new Request("http://127.0.0.1/events", { headers }));
  const peer = peerOf(body);
  if (peer === undefined) throw new Error("the hub refused");
  peer.attach({
    write(bytes) {
      took(bytes);
      return true;
    },
    end() {},
    destroy() {},
  });
  peer.ready();
  return peer;
}

const decoder = new TextDecoder();

/** One event at a time: from `publish` to the sink that has it. */
async function delivery(name: string, hub: JournaledHub, events: number): Promise<Result[]> {
  const delays: number[] = [];
  let delivered = (): void => {};
  let mark = "nothing";
  const peer = connect(hub, "", (bytes) => {
    if (decoder.decode(bytes).includes(mark)) delivered();
  });
  for (let i = 0; i < events; i++) {
    mark = `mark-${i}-`;
    const arrival = new Promise<void>((resolve) => delivered = resolve);
    const start = performance.now();
    await Promise.all([hub.publish({ name: "load", data: `${mark}${"x".repeat(120)}` }), arrival]);
    delays.push(performance.now() - start);
  }
  peer.left();
  delays.sort((a, b) => a - b);
  const at = (share: number): number => delays[Math.floor(share * delays.length)] ?? NaN;
  return [
    { name: `${name}, publish to delivered, p50`, values: { ms: at(0.5) } },
    { name: `${name}, publish to delivered, p99`, values: { ms: at(0.99) } },
  ];
}

/** From the request to the first chunk that holds a replayed event. */
async function resume(name: string, hub: JournaledHub): Promise<Result> {
  const { epoch, head } = hub.position();
  const times: number[] = [];
  for (let i = 0; i < RESUMES; i++) {
    const start = performance.now();
    await new Promise<void>((resolve, reject) => {
      const peer = connect(hub, `${epoch}:${head - BEHIND}`, (bytes) => {
        const text = decoder.decode(bytes);
        if (text.includes('"verdict":') && !text.includes('"resumed":true')) {
          reject(new Error(text));
        }
        if (!text.includes(`id: ${epoch}:${head - BEHIND + 1}\n`)) return;
        times.push(performance.now() - start);
        queueMicrotask(() => peer.left());
        resolve();
      });
    });
  }
  const what = `${name}, ${BEHIND.toLocaleString("en-US")} behind: resume begins`;
  return { name: what, values: { ms: median(times) } };
}

async function journals(effort: Effort): Promise<Result[]> {
  const results: Result[] = [];
  for (const [name, open] of Object.entries(STORES)) {
    const store = await open();
    if (store === null) continue;
    try {
      results.push(...await appends(name, store, 1, effort));
      results.push(...await appends(name, store, BATCH, effort));
      await fill(store.journal, BEHIND + 1);
      results.push(await reading(name, store.journal));
      const hub = await openHub({ journal: store.journal, keepaliveMs: 3_600_000, logger: silent });
      results.push(...await delivery(name, hub, quick ? 100 : 1000));
      results.push(await resume(name, hub));
      await hub.shutdown();
    } finally {
      await store.stop();
    }
  }
  return results;
}

await printResults(journals);
process.exit(0);
