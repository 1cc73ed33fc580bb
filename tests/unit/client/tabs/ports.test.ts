import { assert, assertEquals } from "@std/assert";
import { createHub, type Hub } from "../../../../mod.ts";
import { openStream } from "../../../../src/client/stream.ts";
import { attachToWorker } from "../../../../src/client/tabs.ts";
import { attach } from "../../../../src/client/tabs/attachment.ts";
import type { LockManagerLike } from "../../../../src/client/tabs/lock.ts";
import type {
  SharedWorkerLike,
  TabAttachment,
  TabOptions,
  TabRevalidateContext,
} from "../../../../src/client/tabs/types.ts";
import type { Fetch } from "../../../../src/client/types.ts";
import { createVersionMap } from "../../../../src/client/versions.ts";
import { createWorkerHost, type WorkerHost } from "../../../../src/client/worker.ts";
import { eventually } from "../../../support/poll.ts";
import { test } from "../../../support/test.ts";

/** Short beats: this is real time. */
const TIMING = { heartbeatMs: 60 };

/** Whoever stands in for a browser: a hub behind a fetch, and what a test has to clean up. */
class Profile {
  readonly hub: Hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });
  readonly requests: Request[] = [];
  readonly fetch: Fetch = (input, init) => {
    const request = new Request(input, init);
    this.requests.push(request);
    return Promise.resolve(this.hub.serve(request));
  };
  readonly #ports: MessagePort[] = [];
  readonly #tabs: TabAttachment[] = [];
  readonly #hosts: WorkerHost[] = [];
  worker: WorkerHost = this.startWorker();

  startWorker(): WorkerHost {
    const worker = createWorkerHost({ fetch: this.fetch, timing: TIMING });
    this.#hosts.push(worker);
    return this.worker = worker;
  }

  /** A real port to the worker, as a browser would make one. */
  connect(): SharedWorkerLike {
    const { port1, port2 } = new MessageChannel();
    this.#ports.push(port1, port2);
    this.worker.connect(port2);
    return { port: port1, addEventListener() {} };
  }

  keep(tab: TabAttachment): TabAttachment {
    this.#tabs.push(tab);
    return tab;
  }

  async close(): Promise<void> {
    for (const tab of this.#tabs) tab.detach();
    for (const host of this.#hosts) host.stop();
    for (const port of this.#ports) port.close();
    await this.hub.shutdown();
  }
}

/** A tab's application. */
class App {
  readonly seen: string[] = [];
  readonly runs: TabRevalidateContext[] = [];
  readonly kinds: string[] = [];
  readonly options: TabOptions;

  constructor(options: Partial<TabOptions>) {
    this.options = {
      url: "http://localhost/events",
      timing: TIMING,
      onFrame: ({ data }) => void this.seen.push(data),
      revalidate: (context) => void this.runs.push(context),
      onLifecycle: ({ kind }) => void this.kinds.push(kind),
      ...options,
    };
  }
}

async function withProfile(work: (profile: Profile) => Promise<void>): Promise<void> {
  const profile = new Profile();
  try {
    await work(profile);
  } finally {
    await profile.close();
  }
}

test("over real ports, tabs share one stream of a real hub, each getting every frame once", () =>
  withProfile(async (profile) => {
    const { hub } = profile;
    const apps = [1, 2, 3].map(() => new App({ worker: () => profile.connect() }));
    const tabs = apps.map(({ options }) => profile.keep(attachToWorker(options)));
    await eventually(() => apps.every(({ runs }) => runs.length === 1), { what: "the first runs" });
    for (let i = 1; i <= 50; i++) hub.publish({ name: "tick", data: String(i) });
    const late = new App({ worker: () => profile.connect() });
    profile.keep(attachToWorker(late.options));
    await eventually(() => late.runs.length === 1, { what: "the late tab's own run" });
    hub.publish({ name: "tick", data: "51" });
    await eventually(() => [...apps, late].every(({ seen }) => seen.at(-1) === "51"), {
      what: "the last frame",
    });
    const all = Array.from({ length: 51 }, (_, i) => String(i + 1));
    for (const { seen } of apps) assertEquals(seen, all);
    assertEquals([late.runs[0]?.full, late.seen.length < 51], [true, true]);
    assertEquals(profile.requests.length, 1);
    assertEquals(tabs.map((tab) => tab.mode()), ["worker", "worker", "worker"]);
    assertEquals(new Set(tabs.map((tab) => tab.cursor())).size, 1);
  }));

test("over real ports, a worker that is gone is replaced, and nobody misses a frame", () =>
  withProfile(async (profile) => {
    const { hub } = profile;
    const app = new App({ worker: () => profile.connect() });
    profile.keep(attachToWorker(app.options));
    await eventually(() => app.runs.length === 1, { what: "the first run" });
    hub.publish({ name: "tick", data: "1" });
    await eventually(() => app.seen.length === 1, { what: "a frame" });
    profile.worker.stop();
    profile.startWorker();
    hub.publish({ name: "tick", data: "2" });
    await eventually(() => app.seen.length === 2, { what: "a frame over the new worker" });
    assertEquals(app.kinds.filter((kind) => kind === "worker_dead").length, 1);
    assertEquals([app.seen, app.runs.length], [["1", "2"], 1]);
  }));

test("over real ports, credentials come from the tab, and a logout ends the stream", () =>
  withProfile(async (profile) => {
    const app = new App({
      worker: () => profile.connect(),
      url: () => Promise.resolve(new URL("http://localhost/events?ticket=1")),
      headers: () => Promise.resolve({ "X-Token": "secret" }),
      tag: "profile",
    });
    const other = new App({ worker: () => profile.connect() });
    const tab = profile.keep(attachToWorker(app.options));
    profile.keep(attachToWorker(other.options));
    await eventually(() => other.runs.length === 1, { what: "the first run" });
    const [request] = profile.requests;
    assertEquals([
      request?.url,
      request?.headers.get("X-Token"),
      request?.headers.get("SSE-Client"),
    ], [
      ...["http://localhost/events?ticket=1", "secret", "profile"],
    ]);
    tab.detach("logout");
    await eventually(() => profile.worker.state() === "stopped", { what: "the end of the stream" });
    await eventually(() => profile.worker.tabs() === 1, { what: "the tab to be gone" });
  }));

test("a host's digest reaches the tabs over real ports, and their stamps its map", () =>
  withProfile(async (profile) => {
    const versions = createVersionMap();
    const changed = [{ kind: "chat", ref: "1", version: "8" }];
    const worker = createWorkerHost({
      fetch: profile.fetch,
      timing: TIMING,
      versions,
      revalidate: (context, tabs) => tabs.run(context, { changed, removed: [] }),
    });
    profile.worker.stop();
    profile.worker = worker;
    const app = new App({ worker: () => profile.connect() });
    const tab = profile.keep(attachToWorker(app.options));
    try {
      await eventually(() => app.runs.length === 1, { what: "the first run" });
      // A new tab needs everything: no digest speaks for it.
      assertEquals([app.runs[0]?.full, app.runs[0]?.changed], [true, null]);
      tab.observe({ kind: "chat", ref: "1" }, "7");
      await eventually(() => versions.size === 1, { what: "the stamp" });
      tab.reconnect({ resetCursor: true });
      await eventually(() => app.runs.length === 2, { what: "the second run" });
      assertEquals([app.runs[1]?.full, app.runs[1]?.changed], [false, changed]);
    } finally {
      worker.stop();
    }
  }));

/** Locks within one process. */
class Locks implements LockManagerLike {
  #tail: Promise<unknown> = Promise.resolve();

  request(
    _name: string,
    { signal }: { readonly signal?: AbortSignal },
    callback: () => Promise<void> | undefined,
  ): Promise<unknown> {
    const turn = this.#tail.then(() => {
      if (signal?.aborted) throw new DOMException("", "AbortError");
      return callback();
    });
    this.#tail = turn.catch(() => {});
    return turn;
  }
}

test("over a real channel, tabs share the stream of the one that leads, and go on without it", () =>
  withProfile(async (profile) => {
    const { hub } = profile;
    const locks = new Locks();
    const name = `test ${crypto.randomUUID()}`;
    const apps = [1, 2, 3].map(() => new App({ name, host: { fetch: profile.fetch } }));
    const tabs = apps.map(({ options }) =>
      profile.keep(attach(options, {
        makeStream: openStream,
        election: {
          locks,
          openChannel: (name) => new BroadcastChannel(name),
          wall: () => Date.now(),
        },
      }))
    );
    await eventually(() => apps.every(({ runs }) => runs.length > 0), { what: "the first runs" });
    for (let i = 1; i <= 20; i++) hub.publish({ name: "tick", data: String(i) });
    await eventually(() => apps.every(({ seen }) => seen.length === 20), { what: "the frames" });
    assertEquals(tabs.map((tab) => tab.mode()), ["leader", "follower", "follower"]);
    assertEquals(profile.requests.length, 1);
    tabs[0]?.detach();
    hub.publish({ name: "tick", data: "21" });
    await eventually(() => apps.slice(1).every(({ seen }) => seen.at(-1) === "21"), {
      what: "a frame over the next leader",
    });
    for (const { seen } of apps.slice(1)) {
      assertEquals(seen, Array.from({ length: 21 }, (_, i) => String(i + 1)));
    }
    assertEquals(profile.requests.length, 2);
    assertEquals(tabs.slice(1).map((tab) => tab.mode()), ["leader", "follower"]);
  }));

test("where there are neither workers nor locks, a tab has a stream of its own", () =>
  withProfile(async (profile) => {
    const app = new App({ host: { fetch: profile.fetch } });
    const tab = profile.keep(attach(app.options, { makeStream: openStream, election: null }));
    await eventually(() => app.runs.length === 1, { what: "the first run" });
    profile.hub.publish({ name: "tick", data: "1" });
    await eventually(() => app.seen.length === 1, { what: "a frame" });
    assertEquals([tab.mode(), tab.state()], ["own", "open"]);
    assert(app.kinds.includes("worker_unavailable"));
  }));
