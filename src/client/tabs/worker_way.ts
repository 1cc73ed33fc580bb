/**
 * The stream of a SharedWorker; and, when the worker is lost, one of this tab's own, until the worker
 * answers again.
 *
 * @module
 */
import type { Host } from "../worker/host.ts";
import type { TabCore } from "./core.ts";
import { dialHost, dialWorker } from "./dial.ts";
import { type Dial, Link } from "./link.ts";
import type { SharedWorkerLike, TabMode } from "./types.ts";
import type { MakeHost, Way } from "./way.ts";

/** Why there is no worker. */
type Cause = "silent" | "error" | "missing";

/** The way over a worker. */
export class WorkerWay implements Way {
  readonly #core: TabCore;
  readonly #makeHost: MakeHost;
  readonly #spawn: () => SharedWorkerLike | null;
  #link: Link | null = null;
  /** This tab's own host, while the worker is lost. */
  #own: Host | null = null;
  /** A line to a worker that may have recovered. */
  #probe: Link | null = null;
  #respawned = false;
  #alone = false;

  /**
   * @param core The tab.
   * @param makeHost Makes a host of this tab's own.
   * @param spawn Starts the worker; `null` when there can be none.
   */
  constructor(core: TabCore, makeHost: MakeHost, spawn: () => SharedWorkerLike | null) {
    this.#core = core;
    this.#makeHost = makeHost;
    this.#spawn = spawn;
  }

  get mode(): TabMode {
    return this.#alone ? "own" : "worker";
  }

  get link(): Link | null {
    return this.#link;
  }

  enter(): void {
    if (this.#alone) {
      this.#carry();
      this.seen();
    } else this.#open();
  }

  leave(reason: string): void {
    this.#link?.close(reason);
    this.#probe?.close(reason);
    this.#own?.stop();
    this.#link = this.#probe = this.#own = null;
  }

  /** Once in each time that somebody sees the page, a lost worker gets another chance. */
  seen(): void {
    if (!this.#alone || this.#probe !== null) return;
    const worker = this.#spawn();
    if (worker === null) return;
    this.#probe = this.#dial(dialWorker(worker));
  }

  #open(): void {
    const worker = this.#spawn();
    if (worker === null) return this.#fallBack("missing");
    this.#core.tell({ kind: "worker_spawned", via: "shared_worker" });
    const link = this.#link = this.#dial(dialWorker(worker));
    worker.addEventListener("error", () => {
      // A script that cannot be loaded cannot be loaded the next time either.
      if (this.#link === link && !link.attached) this.#fallBack("error");
    });
  }

  #dial(dial: Dial): Link {
    const link = new Link(this.#core, dial, {
      silent: (sinceMs) => this.#silent(link, sinceMs),
      welcomed: () => this.#welcomed(link),
    });
    return link;
  }

  /** The tab carries its own stream from here on. */
  #fallBack(cause: Cause): void {
    this.#link?.close("unavailable");
    this.#alone = true;
    this.#core.tell({ kind: "worker_unavailable", cause });
    this.#carry();
  }

  #carry(): void {
    this.#own = this.#makeHost();
    this.#link = this.#dial(dialHost(this.#own));
  }

  #silent(link: Link, sinceLastMessageMs: number): void {
    if (link === this.#probe) {
      link.close("unavailable");
      this.#probe = null;
    } else if (!this.#alone) {
      this.#core.tell({ kind: "worker_dead", sinceLastMessageMs });
      if (this.#respawned) return this.#fallBack("silent");
      this.#respawned = true;
      link.close("unavailable");
      this.#open();
    }
  }

  #welcomed(link: Link): void {
    if (link === this.#probe) {
      // The worker goes on from the cursor that this tab had a moment ago.
      this.#link?.close();
      this.#own?.stop();
      this.#own = this.#probe = null;
      this.#alone = false;
      this.#link = link;
      this.#core.tell({ kind: "worker_recovered" });
    }
    if (!this.#alone) this.#respawned = false;
  }
}
