/**
 * A browser's profile, simulated: pages, a SharedWorker, locks and broadcast channels, all under one
 * clock.
 *
 * @module
 */
import type { ChannelLike } from "../../../../../src/client/tabs/channel.ts";
import type { LockManagerLike } from "../../../../../src/client/tabs/lock.ts";
import type {
  MessagePortLike,
  SharedWorkerLike,
  TabOptions,
} from "../../../../../src/client/tabs/types.ts";
import { Host } from "../../../../../src/client/worker/host.ts";
import type { WorkerHostOptions } from "../../../../../src/client/worker/types.ts";
import { Owner, SimClock } from "./clock.ts";
import { Page } from "./page.ts";
import { SimServer, SimStream } from "./server.ts";

type Listener = (event: { readonly data: unknown }) => void;

/** What a world is like. */
export interface WorldOptions {
  /** Where chance starts. */
  readonly seed?: number;
  /** Whether there is a SharedWorker; yes. */
  readonly workers?: boolean;
  /** Whether there are locks and channels; yes. */
  readonly elections?: boolean;
  /** The options of the worker's script. */
  readonly host?: WorkerHostOptions;
}

/** The profile. */
export class World {
  readonly clock: SimClock;
  readonly server: SimServer;
  readonly locks: SimLocks;
  readonly pages: Page[] = [];
  readonly elections: boolean;
  readonly #options: WorldOptions;
  readonly #channels = new Map<string, Set<SimChannel>>();
  /** The living worker. */
  worker: { readonly owner: Owner; readonly host: Host } | null = null;
  /** Whether a script of a worker can be loaded. */
  scripts = true;
  /** Whether a channel can be opened. */
  channels = true;
  /** How much longer a letter on a channel takes than everything else, in milliseconds. */
  channelMs = 0;
  /** How often a page has called for the worker. */
  spawns = 0;
  /** The worker's ends of its ports. */
  #ports: SimPort[] = [];
  readonly #errors = new Set<() => void>();

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.clock = new SimClock(options.seed);
    this.server = new SimServer(this.clock);
    this.locks = new SimLocks(this.clock);
    this.elections = options.elections ?? true;
  }

  /** Opens a page. */
  open(options: Partial<TabOptions> = {}): Page {
    const page = new Page(this, options);
    this.pages.push(page);
    return page;
  }

  /** The pages that are there. */
  get present(): Page[] {
    return this.pages.filter(({ left }) => !left);
  }

  /** Everything wrong that any page has seen. */
  get faults(): string[] {
    return this.pages.flatMap(({ faults }, index) =>
      faults.map((fault) => `page ${index} ${fault}`)
    );
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /** The worker's process ends. */
  killWorker(): void {
    if (this.worker === null) return;
    this.worker.owner.dead = true;
    this.worker = null;
    this.#ports = [];
  }

  /** The browser ends the worker, starts it anew, and gives the new one the same ports. */
  restartWorker(): void {
    const ports = this.#ports;
    this.killWorker();
    const { owner, host } = this.#worker();
    for (const port of ports) this.#attach(port.moveTo(owner), owner, host);
  }

  /** The platform reports an error of the worker. */
  scriptError(): void {
    for (const error of this.#errors) error();
  }

  connectWorker(page: Owner): SharedWorkerLike | null {
    if (this.#options.workers === false) return null;
    this.spawns++;
    const { owner, host } = this.#worker();
    const [port, other] = portPair(this.clock, page, owner);
    if (this.scripts) this.#attach(other, owner, host);
    else this.clock.post(page, () => this.scriptError(), 10);
    return { port, addEventListener: (_, listener) => void this.#errors.add(listener) };
  }

  #attach(port: SimPort, owner: Owner, host: Host): void {
    this.#ports.push(port);
    this.clock.post(owner, () => {
      const receive = host.connect((message) => port.postMessage(message));
      port.addEventListener("message", ({ data }) => receive(data));
      port.start();
    });
  }

  openChannel(name: string, owner: Owner): SimChannel {
    if (!this.channels) throw new DOMException("no channels here", "SecurityError");
    const all = this.#channels.get(name) ?? new Set();
    this.#channels.set(name, all);
    return new SimChannel(this, owner, all);
  }

  #worker(): { readonly owner: Owner; readonly host: Host } {
    if (this.worker !== null) return this.worker;
    const owner = new Owner();
    const options = { ...this.#options.host, clock: this.clock.of(owner) };
    const host = new Host(options, (stream) => new SimStream(stream, this.server, owner));
    return this.worker = { owner, host };
  }
}

class SimPort implements MessagePortLike {
  readonly #clock: SimClock;
  readonly #owner: Owner;
  readonly #listeners = new Set<Listener>();
  peer: SimPort | null = null;
  #queue: unknown[] | null = [];
  #closed = false;

  constructor(clock: SimClock, owner: Owner) {
    this.#clock = clock;
    this.#owner = owner;
  }

  postMessage(message: unknown): void {
    const { peer } = this;
    if (this.#closed || peer === null) return;
    const data = structuredClone(message);
    this.#clock.post(peer.#owner, () => peer.#receive(data));
  }

  addEventListener(_: "message", listener: Listener): void {
    this.#listeners.add(listener);
  }

  start(): void {
    const queue = this.#queue ?? [];
    this.#queue = null;
    for (const data of queue) this.#receive(data);
  }

  close(): void {
    this.#closed = true;
  }

  /** The same end, with another owner. */
  moveTo(owner: Owner): SimPort {
    const port = new SimPort(this.#clock, owner);
    port.peer = this.peer;
    if (this.peer !== null) this.peer.peer = port;
    return port;
  }

  #receive(data: unknown): void {
    if (this.#closed) return;
    if (this.#queue !== null) this.#queue.push(data);
    else for (const listener of this.#listeners) listener({ data });
  }
}

/** Two ends of a channel between two owners. */
export function portPair(clock: SimClock, one: Owner, other: Owner): [SimPort, SimPort] {
  const pair: [SimPort, SimPort] = [new SimPort(clock, one), new SimPort(clock, other)];
  pair[0].peer = pair[1];
  pair[1].peer = pair[0];
  return pair;
}

/** One page's broadcast channel. */
export class SimChannel implements ChannelLike {
  /** Whether it hears nothing. */
  deaf = false;
  readonly #world: World;
  readonly #owner: Owner;
  readonly #all: Set<SimChannel>;
  readonly #listeners = new Set<Listener>();

  constructor(world: World, owner: Owner, all: Set<SimChannel>) {
    this.#world = world;
    this.#owner = owner;
    this.#all = all;
    all.add(this);
  }

  postMessage(message: unknown): void {
    if (!this.#all.has(this)) throw new Error("the channel is closed");
    const data = structuredClone(message);
    const { clock, channelMs } = this.#world;
    for (const other of this.#all) {
      if (other === this) continue;
      const deliver = (): void => {
        if (!this.#all.has(other) || other.deaf) return;
        for (const listener of other.#listeners) listener({ data });
      };
      if (channelMs === 0) clock.post(other.#owner, deliver);
      else clock.of(other.#owner).after(channelMs, deliver);
    }
  }

  addEventListener(_: "message", listener: Listener): void {
    this.#listeners.add(listener);
  }

  close(): void {
    this.#all.delete(this);
  }
}

interface Request {
  readonly name: string;
  readonly owner: Owner;
  readonly callback: () => Promise<void> | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The profile's locks. A page that sleeps keeps what it holds. */
export class SimLocks {
  readonly #clock: SimClock;
  readonly #holders = new Map<string, Request>();
  #queue: Request[] = [];
  /** Whether whoever is robbed is not told. */
  mute = false;
  /** Whether the page may have no locks at all. */
  broken = false;

  constructor(clock: SimClock) {
    this.#clock = clock;
  }

  /** The locks as a page sees them. */
  of(owner: Owner): LockManagerLike {
    return {
      request: (name, { signal, steal }, callback) =>
        new Promise<void>((resolve, reject) => {
          if (this.broken) return reject(new DOMException("no locks here", "SecurityError"));
          const request = { name, owner, callback, resolve, reject };
          if (steal) return this.#rob(request);
          signal?.addEventListener("abort", () => {
            if (!this.#queue.includes(request)) return;
            this.#queue = this.#queue.filter((each) => each !== request);
            reject(new DOMException("", "AbortError"));
          });
          if (this.#holders.has(name)) this.#queue.push(request);
          else this.#grant(request);
        }),
    };
  }

  /** Somebody who is no tab of ours takes every lock, and does nothing with it. */
  steal(): void {
    const callback = (): Promise<void> => new Promise(() => {});
    for (const name of [...this.#holders.keys()]) {
      this.#rob({ name, owner: new Owner(), callback, resolve() {}, reject() {} });
    }
  }

  /** A process has ended: its locks are free. */
  die(owner: Owner): void {
    this.#queue = this.#queue.filter((each) => each.owner !== owner);
    for (const request of [...this.#holders.values()]) {
      if (request.owner === owner) this.#release(request);
    }
  }

  #rob(request: Request): void {
    const robbed = this.#holders.get(request.name);
    if (robbed !== undefined && !this.mute) {
      this.#clock.post(robbed.owner, () => robbed.reject(new DOMException("", "AbortError")));
    }
    this.#grant(request);
  }

  #grant(request: Request): void {
    this.#holders.set(request.name, request);
    this.#clock.post(request.owner, () => {
      if (this.#holders.get(request.name) !== request) return;
      const held = request.callback() ?? Promise.resolve();
      void held.then(() => {
        request.resolve();
        this.#release(request);
      });
    });
  }

  #release(request: Request): void {
    const { name } = request;
    if (this.#holders.get(name) !== request) return;
    this.#holders.delete(name);
    const next = this.#queue.find((each) => each.name === name);
    this.#queue = this.#queue.filter((each) => each !== next);
    if (next !== undefined) this.#grant(next);
  }
}
