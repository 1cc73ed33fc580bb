/**
 * The stream of a SharedWorker; and, when the worker is lost, one of this tab's own, until the worker
 * answers again.
 *
 * @module
 */
import type { Host } from "../worker/host.ts";
import { SILENT_BEATS } from "../worker/pulse.ts";
import type { TabCore } from "./core.ts";
import { covers } from "./covers.ts";
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
  readonly #spawn: (() => SharedWorkerLike | null) | null;
  #link: Link | null = null;
  /** This tab's own host, while the worker is lost. */
  #own: Host | null = null;
  /** A line to a worker that may have recovered. */
  #probe: Link | null = null;
  #respawned = false;
  #alone: boolean;

  /**
   * @param core The tab.
   * @param makeHost Makes a host of this tab's own.
   * @param spawn Starts the worker; `null` when there can be none: then the tab is on its own for good.
   */
  constructor(core: TabCore, makeHost: MakeHost, spawn: (() => SharedWorkerLike | null) | null) {
    this.#core = core;
    this.#makeHost = makeHost;
    this.#spawn = spawn;
    this.#alone = spawn === null;
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
    const worker = this.#start();
    if (worker === null) return;
    this.#probe = this.#dial(dialWorker(worker), true);
  }

  /**
   * The tab carries its own stream.
   *
   * @param cause Why.
   */
  fallBack(cause: Cause): void {
    this.#link?.close("unavailable");
    this.#alone = true;
    this.#core.tell({ kind: "worker_unavailable", cause });
    this.#carry();
  }

  #start(): SharedWorkerLike | null {
    try {
      return this.#spawn?.() ?? null;
    } catch {
      return null;
    }
  }

  #open(): void {
    const worker = this.#start();
    if (worker === null) return this.fallBack("missing");
    this.#core.tell({ kind: "worker_spawned", via: "shared_worker" });
    const link = this.#link = this.#dial(dialWorker(worker));
    worker.addEventListener("error", () => {
      // A script that cannot be loaded cannot be loaded the next time either.
      if (this.#link === link && link.base === null) this.fallBack("error");
    });
  }

  #dial(dial: Dial, parked = false): Link {
    const link = new Link(this.#core, dial, {
      silent: (sinceMs) => this.#silent(link, sinceMs),
      heard: () => this.#heard(),
    }, parked);
    return link;
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
      if (this.#respawned) return this.fallBack("silent");
      this.#respawned = true;
      link.close("unavailable");
      this.#open();
    }
  }

  #heard(): void {
    if (this.#alone) this.#recover();
    else if (this.#link !== null && this.#link.base !== null) this.#respawned = false;
  }

  /**
   * Changes over to the worker, once the tab's own stream has brought everything up to where the worker
   * goes on. A worker that is far ahead is not waited for: the tab revalidates then.
   */
  #recover(): void {
    const probe = this.#probe;
    const { clock, inbox, state, timing } = this.#core;
    if (probe === null || probe.base === null) return;
    const waited = clock.now() - probe.welcomedAt >= SILENT_BEATS * timing.heartbeatMs;
    if (!covers(inbox.cursor, probe.base) && !waited && state === "open") return;
    this.#link?.close(null);
    this.#own?.stop();
    this.#own = this.#probe = null;
    this.#alone = this.#respawned = false;
    this.#link = probe;
    this.#core.tell({ kind: "worker_recovered" });
    probe.take();
  }
}
