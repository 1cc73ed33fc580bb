/**
 * A page with an application in it, which judges what its tab brings.
 *
 * @module
 */
import type { LifecycleRecord } from "../../../../../src/client/records.ts";
import { attach } from "../../../../../src/client/tabs/attachment.ts";
import type {
  SharedWorkerLike,
  TabAttachment,
  TabOptions,
  TabRevalidateContext,
} from "../../../../../src/client/tabs/types.ts";
import type {
  Frame,
  OnlineSource,
  VisibilitySignal,
  VisibilitySource,
} from "../../../../../src/client/types.ts";
import { parseCursor } from "../../../../../src/wire/cursor.ts";
import { Owner } from "./clock.ts";
import { SimStream } from "./server.ts";
import type { SimChannel, World } from "./world.ts";

/** A page. */
export class Page {
  readonly owner = new Owner();
  readonly world: World;
  readonly tab: TabAttachment;
  readonly records: LifecycleRecord[] = [];
  readonly frames: Frame[] = [];
  readonly runs: TabRevalidateContext[] = [];
  /** What is wrong with what came. */
  readonly faults: string[] = [];
  visible = true;
  online = true;
  /** How long a revalidation takes. */
  runMs = 20;
  /** How many of the next revalidations fail. */
  failures = 0;
  /** Whether the next frame is refused. */
  rejects = false;
  left = false;
  /** What the application knows: everything up to an offset of an epoch. */
  #known = { epoch: "", offset: 0 };
  /** Whether a revalidation that it needs has failed. */
  #owing = false;
  #running = 0;
  #listeners = new Set<(signal: VisibilitySignal) => void>();
  #networks = new Set<(online: boolean) => void>();
  readonly channels = new Set<SimChannel>();

  constructor(world: World, options: Partial<TabOptions>) {
    this.world = world;
    const { clock } = world;
    this.tab = attach({
      url: "http://sim/events",
      worker: () => this.spawn(),
      clock: clock.of(this.owner),
      visibility: this.#visibility,
      online: this.#network,
      onFrame: (frame) => this.#onFrame(frame),
      revalidate: (context) => this.#revalidate(context),
      onLifecycle: (record) => void this.records.push(record),
      ...options,
    }, {
      makeStream: (options) => new SimStream(options, world.server, this.owner),
      election: world.elections
        ? {
          locks: world.locks.of(this.owner),
          openChannel: (name) => {
            const channel = world.openChannel(name, this.owner);
            this.channels.add(channel);
            return channel;
          },
          wall: () => Math.floor(clock.now),
        }
        : null,
    });
  }

  spawn(): SharedWorkerLike | null {
    return this.world.connectWorker(this.owner);
  }

  kinds(): string[] {
    return this.records.map(({ kind }) => kind);
  }

  /** Whether the application knows everything that was ever published. */
  get current(): boolean {
    const { epoch, head } = this.world.server;
    return this.#known.epoch === epoch && this.#known.offset === head && !this.#owing;
  }

  get known(): string {
    return `${this.#known.epoch}:${this.#known.offset}${this.#owing ? " owing" : ""}`;
  }

  /** It begins with what it kept: everything up to an offset. */
  knows(offset: number): void {
    this.#known = { epoch: this.world.server.epoch, offset };
  }

  see(visible: boolean): void {
    if (this.visible === visible) return;
    this.visible = visible;
    this.signal(visible ? "visible" : "hidden");
  }

  connect(online: boolean): void {
    if (this.online === online) return;
    this.online = online;
    for (const network of [...this.#networks]) network(online);
  }

  signal(signal: VisibilitySignal): void {
    for (const listener of [...this.#listeners]) listener(signal);
  }

  /** The page goes into the back-forward cache, and sleeps there. */
  hide(): void {
    if (this.owner.asleep) return;
    this.signal("pagehide");
    this.owner.asleep = true;
  }

  /** And comes back. */
  show(): void {
    if (!this.owner.asleep) return;
    this.owner.asleep = false;
    this.signal("pageshow");
  }

  /** The browser freezes it. `told`: the page hears of it before. */
  freeze(told: boolean): void {
    if (this.owner.asleep) return;
    if (told) this.signal("pagehide");
    this.owner.asleep = true;
  }

  resume(): void {
    if (!this.owner.asleep) return;
    this.owner.asleep = false;
    this.signal("visible");
    if (!this.visible) this.signal("hidden");
  }

  detach(reason?: "logout"): void {
    this.left = true;
    this.tab.detach(reason);
  }

  /** Its process ends without a word. */
  crash(): void {
    this.left = true;
    this.owner.dead = true;
    this.world.locks.die(this.owner);
  }

  #visibility: VisibilitySource = {
    hidden: () => !this.visible,
    subscribe: (listener) => {
      this.#listeners.add(listener);
      return () => void this.#listeners.delete(listener);
    },
  };

  #network: OnlineSource = {
    online: () => this.online,
    subscribe: (listener) => {
      this.#networks.add(listener);
      return () => void this.#networks.delete(listener);
    },
  };

  #fault(text: string): void {
    this.faults.push(`at ${this.world.clock.now}: ${text}; knows ${this.known}`);
  }

  #onFrame(frame: Frame): void {
    if (this.left || this.owner.asleep) this.#fault(`frame ${frame.id} while away`);
    if (this.#running > 0) this.#fault(`frame ${frame.id} during a revalidation`);
    const at = parseCursor(frame.id ?? "");
    if (at === null) return;
    const last = this.frames.findLast(({ id }) => id?.startsWith(at.epoch));
    if (last !== undefined && at.offset <= (parseCursor(last.id ?? "")?.offset ?? 0)) {
      this.#fault(`frame ${frame.id} after ${last.id}`);
    }
    this.frames.push(frame);
    const gapless = at.epoch === this.#known.epoch && at.offset <= this.#known.offset + 1;
    // The server has begun anew since this one was sent: the next hello tells, and all is fetched again.
    if (at.epoch < this.#known.epoch) this.#owing = true;
    if (!gapless && !this.#owing) this.#fault(`frame ${frame.id} after a gap`);
    if (this.rejects) {
      this.rejects = false;
      this.#owing = true;
      throw new Error("rejected on purpose");
    }
    if (gapless) this.#known.offset = Math.max(this.#known.offset, at.offset);
  }

  async #revalidate(context: TabRevalidateContext): Promise<void> {
    if (this.#running++ > 0) this.#fault("two revalidations at once");
    this.runs.push(context);
    const { server, clock } = this.world;
    const { epoch, head } = server;
    try {
      await new Promise<void>((resolve, reject) => {
        context.signal.addEventListener("abort", () => reject(new Error("aborted")));
        clock.of(this.owner).after(this.runMs, resolve);
      });
      if (this.failures > 0) {
        this.failures--;
        throw new Error("failed on purpose");
      }
    } catch (error) {
      this.#owing = true;
      throw error;
    } finally {
      this.#running--;
    }
    this.#owing = false;
    if (epoch !== this.#known.epoch) this.#known = { epoch, offset: head };
    else this.#known.offset = Math.max(this.#known.offset, head);
  }
}
