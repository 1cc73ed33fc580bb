/**
 * The stream of one leading tab, where there is no SharedWorker: who holds the lock carries the stream
 * for all tabs, which are fed over a broadcast channel.
 *
 * @module
 */
import type { Host } from "../worker/host.ts";
import { PROTOCOL, readToHost, type ToHost, type ToTab } from "../worker/protocol.ts";
import {
  type ChannelLike,
  isNewer,
  type Letter,
  NO_TERM,
  readLetter,
  type Term,
} from "./channel.ts";
import type { TabCore } from "./core.ts";
import { dialHost } from "./dial.ts";
import { type Dial, Link } from "./link.ts";
import { contend, type LockManagerLike } from "./lock.ts";
import type { TabMode } from "./types.ts";
import type { MakeHost, Way } from "./way.ts";

/** What an election needs of the page. */
export interface ElectionScope {
  /** The page's locks. */
  readonly locks: LockManagerLike;
  /** Opens the channel of a name. */
  openChannel(name: string): ChannelLike;
  /** Milliseconds since the Unix epoch: pages have no other clock in common. */
  wall(): number;
}

/** The way over a leading tab. */
export class LeaderWay implements Way {
  readonly #core: TabCore;
  readonly #makeHost: MakeHost;
  readonly #scope: ElectionScope;
  readonly #name: string;
  readonly #giveUp: () => void;
  /** The followers' ports to the host of this page. */
  readonly #ports = new Map<string, (data: unknown) => void>();
  #term: Term = NO_TERM;
  #channel: ChannelLike | null = null;
  #host: Host | null = null;
  #link: Link | null = null;
  /** Takes what the leader says to this tab, while it follows one. */
  #receive: (data: unknown) => void = () => {};
  #leaveElection: () => void = () => {};
  #cancelTheft: (() => void) | null = null;

  /**
   * @param core The tab.
   * @param makeHost Makes the host, when this tab leads.
   * @param scope What the page has.
   * @param name What the tabs of one profile have in common.
   * @param giveUp Told when there can be no election here.
   */
  constructor(
    core: TabCore,
    makeHost: MakeHost,
    scope: ElectionScope,
    name: string,
    giveUp: () => void,
  ) {
    this.#core = core;
    this.#makeHost = makeHost;
    this.#scope = scope;
    this.#name = name;
    this.#giveUp = giveUp;
  }

  get mode(): TabMode {
    return this.#host === null ? "follower" : "leader";
  }

  get link(): Link | null {
    return this.#link;
  }

  enter(): void {
    try {
      const channel = this.#scope.openChannel(this.#name);
      channel.addEventListener("message", ({ data }) => {
        const letter = readLetter(data);
        if (letter !== null && channel === this.#channel) this.#read(letter);
      });
      this.#channel = channel;
    } catch {
      // An opaque origin has none.
      return this.#giveUp();
    }
    this.#follow();
  }

  leave(reason: string): void {
    this.#link?.close(reason);
    // Whoever leads next may do so before it has heard what this tab's own host has just said.
    if (reason === "logout") {
      this.#send(true, this.#core.id, { kind: "detach", reason } satisfies ToHost);
    }
    this.#resign();
    this.#leaveElection();
    this.#channel?.close();
    this.#link = this.#channel = null;
  }

  seen(): void {}

  #follow(): void {
    this.#link?.close();
    this.#resign();
    this.#link = new Link(this.#core, this.#dial, {
      silent: (sinceLastMessageMs) => this.#depose(sinceLastMessageMs),
      welcomed() {},
    });
    this.#contend(false);
  }

  #contend(steal: boolean): void {
    this.#leaveElection();
    this.#leaveElection = contend(this.#scope.locks, this.#name, steal, {
      won: () => this.#lead(),
      lost: () => this.#follow(),
      failed: () => {
        this.leave("unavailable");
        this.#giveUp();
      },
    });
  }

  #lead(): void {
    this.#spare();
    this.#link?.close();
    const at = Math.max(this.#term.at + 1, this.#scope.wall());
    this.#term = { at, leader: this.#core.id };
    const host = this.#host = this.#makeHost();
    this.#core.tell({ kind: "worker_spawned", via: "leader" });
    this.#link = new Link(this.#core, dialHost(host), { silent() {}, welcomed() {} });
    this.#send(false, null, { kind: "who", v: PROTOCOL, boot: host.boot } satisfies ToTab);
  }

  #resign(): void {
    this.#spare();
    this.#host?.stop();
    this.#host = null;
    this.#ports.clear();
  }

  /** Not all followers at once: whoever comes first is heard before the next one's turn. */
  #depose(sinceLastMessageMs: number): void {
    if (this.#cancelTheft !== null) return;
    const { clock, timing } = this.#core;
    this.#core.tell({ kind: "worker_dead", sinceLastMessageMs });
    this.#cancelTheft = clock.after(clock.random() * timing.heartbeatMs, () => {
      this.#cancelTheft = null;
      if (this.#link?.silent) this.#contend(true);
    });
  }

  #spare(): void {
    this.#cancelTheft?.();
    this.#cancelTheft = null;
  }

  readonly #dial: Dial = (receive) => {
    this.#receive = receive;
    return {
      send: (message) => this.#send(true, this.#core.id, message),
      close: () => void (this.#receive = () => {}),
    };
  };

  #send(up: boolean, tab: string | null, body: unknown): void {
    this.#channel?.postMessage({ term: this.#term, up, tab, body } satisfies Letter);
  }

  #read({ term, up, tab, body }: Letter): void {
    // Of two leaders only the newer one is heard.
    if (isNewer(this.#term, term) && !up) return;
    if (isNewer(term, this.#term)) {
      this.#term = term;
      if (this.#host !== null) this.#follow();
    }
    const said = up ? readToHost(body) : null;
    // Nobody who leads from here on starts the stream again.
    if (said?.kind === "detach" && said.reason === "logout") this.#core.state = "stopped";
    if (!up) {
      if (tab === null || tab === this.#core.id) this.#receive(body);
    } else if (this.#host !== null && tab !== null) this.#port(this.#host, tab)(body);
  }

  #port(host: Host, tab: string): (data: unknown) => void {
    let port = this.#ports.get(tab);
    if (port === undefined) {
      port = host.connect((message) => {
        if (host === this.#host) this.#send(false, tab, message);
      });
      this.#ports.set(tab, port);
    }
    return port;
  }
}
