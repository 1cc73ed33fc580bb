/**
 * A tab's end of one line to a host: who it is, signs of life, and whether the host still gives any.
 *
 * @module
 */
import { readToTab, type ToHost, type ToTab } from "../worker/protocol.ts";
import { heard, isSilent, type Pulse, SILENT_BEATS } from "../worker/pulse.ts";
import type { TabCore } from "./core.ts";
import type { TakenRequest } from "./inbox.ts";

/** After how many frames an acknowledgement does not wait for the next beat. */
const ACK_EVERY = 256;

/** What carries messages to a host. */
export interface Wire {
  /** Sends. */
  send(message: ToHost): void;
  /** Ends it: nothing is received any more. */
  close(): void;
}

/** Opens a wire; `receive` takes what comes, never before this call has returned. */
export type Dial = (receive: (data: unknown) => void) => Wire;

/** What happens on a line. */
export interface LinkEvents {
  /** The host has been silent for three beats, or more: told at each beat until it is heard. */
  silent(sinceMs: number): void;
  /** Something was heard, and dealt with. */
  heard?(): void;
}

/** The line. */
export class Link {
  readonly #core: TabCore;
  readonly #events: LinkEvents;
  readonly #wire: Wire;
  readonly #pulse: Pulse;
  /** What came while another line is in use; `null` when this one is. */
  #parked: ToTab[] | null;
  /** The host that this tab is attached to; `""` before. */
  #boot = "";
  /** The host that was told who this tab is, and when. */
  #told = { boot: "", at: -Infinity };
  #next = 0;
  #acked = 0;
  #ackSent = 0;
  #run: { readonly id: number; readonly taken: TakenRequest } | null = null;
  #cancelTick: () => void = () => {};
  #closed = false;
  /** Where the host stood when it took this tab in; `null` before. */
  base: string | null = null;
  /** When that was. */
  welcomedAt = 0;

  /**
   * Opens the line, and attaches.
   *
   * @param core The tab.
   * @param dial Opens the wire.
   * @param events What happens.
   * @param parked Whether another line is still in use: then what comes waits for `take`.
   */
  constructor(core: TabCore, dial: Dial, events: LinkEvents, parked = false) {
    this.#core = core;
    this.#events = events;
    this.#parked = parked ? [] : null;
    this.#pulse = { heardAt: core.clock.now(), asks: 0 };
    this.#wire = dial((data) => this.#receive(data));
    this.#attach("", false);
    this.#arm();
  }

  /** Whether the host has been silent too long. */
  get silent(): boolean {
    return isSilent(this.#pulse, this.#core.clock.now(), this.#core.timing.heartbeatMs);
  }

  /**
   * Sends.
   *
   * @param message The message.
   */
  send(message: ToHost): void {
    if (!this.#closed) this.#wire.send(message);
  }

  /**
   * Gives a sign of life, with what the page is and what was delivered.
   *
   * @param ask Whether an answer is wanted.
   */
  beat(ask: boolean): void {
    this.#ackSent = this.#acked;
    this.send({ kind: "beat", ack: this.#acked, ask, ...this.#core.page() });
  }

  /** Asks for a sign of life, and judges whether there have been any. */
  check(): void {
    if (this.#closed) return;
    const { clock } = this.#core;
    if (this.silent) this.#events.silent(clock.now() - this.#pulse.heardAt);
    if (this.#closed) return;
    this.#pulse.asks++;
    this.beat(true);
  }

  /** Puts this line in use. */
  take(): void {
    const parked = this.#parked ?? [];
    this.#parked = null;
    for (const message of parked) this.#deal(message);
  }

  /**
   * Ends the line.
   *
   * @param reason What the host is told; `null`: nothing.
   */
  close(reason: string | null): void {
    if (this.#closed) return;
    if (reason !== null) this.send({ kind: "detach", reason });
    this.#closed = true;
    this.#cancelTick();
    this.#wire.close();
  }

  #arm(): void {
    const { clock, timing: { heartbeatMs } } = this.#core;
    // The beat in which the host becomes silent ends when it does.
    const due = this.#pulse.heardAt + SILENT_BEATS * heartbeatMs - clock.now();
    this.#cancelTick = clock.after(due > 0 && due < heartbeatMs ? due : heartbeatMs, () => {
      this.check();
      if (!this.#closed) this.#arm();
    });
  }

  #attach(boot: string, repair: boolean): void {
    this.#told = { boot, at: this.#core.clock.now() };
    this.send(this.#core.attachment(repair));
  }

  #receive(data: unknown): void {
    const message = readToTab(data);
    if (message === null || this.#closed) return;
    heard(this.#pulse, this.#core.clock.now());
    switch (message.kind) {
      case "who":
        this.#introduce(message.boot);
        break;
      case "ask":
        // At once, whatever waits: without it there may be no stream at all.
        void this.#core.answer(message).then((answer) => this.send(answer));
        break;
      case "welcome":
        this.#boot = message.boot;
        this.#next = message.seq + 1;
        this.base = message.cursor;
        this.welcomedAt = this.#core.clock.now();
        this.#hand(message);
        break;
      case "frames":
        if (message.seq === this.#next) {
          this.#next += message.frames.length;
          this.#hand(message);
        } else if (this.#boot !== "") {
          // Something was lost on the way: the same as having been given up.
          this.#boot = "";
          this.#introduce(this.#told.boot, true);
        }
        break;
      default:
        if (this.#boot !== "") this.#hand(message);
    }
    if (message.kind === "beat" && message.ask) this.beat(false);
    this.#events.heard?.();
  }

  /** A host does not know this tab, or not any more. */
  #introduce(boot: string, lost = boot === this.#boot): void {
    const { clock, timing } = this.#core;
    if (lost) {
      if (this.#parked === null) this.#core.inbox.lose();
      else this.#parked.length = 0;
    } // It was told a moment ago: the answer is on its way.
    else if (boot === this.#told.boot && clock.now() - this.#told.at < timing.heartbeatMs) return;
    this.#boot = "";
    this.#attach(boot, lost);
  }

  #hand(message: ToTab): void {
    if (this.#parked === null) this.#deal(message);
    else this.#parked.push(message);
  }

  #deal(message: ToTab): void {
    const { inbox } = this.#core;
    switch (message.kind) {
      case "welcome": {
        const { seq } = message;
        this.#core.welcome(message);
        this.#acked = this.#ackSent = seq;
        return;
      }
      case "frames": {
        const last = message.seq + message.frames.length - 1;
        const boot = this.#boot;
        return inbox.frames(message.frames, () => this.#delivered(boot, last));
      }
      case "beat":
        return inbox.reached(message.cursor);
      case "record":
        return this.#core.heard(message.record, message.state);
      case "revalidate": {
        const { run } = message;
        const boot = this.#boot;
        const taken = inbox.request(message, (status) => {
          // Another host would take it for the answer to a question of its own.
          if (boot === this.#boot) this.send({ kind: "done", run, status });
        });
        this.#run = { id: run, taken };
        return;
      }
      case "abort":
        this.#core.doubt = true;
        if (this.#run?.id === message.run) this.#run.taken.abort();
        return;
    }
  }

  #delivered(boot: string, seq: number): void {
    if (boot !== this.#boot) return;
    this.#acked = Math.max(this.#acked, seq);
    if (seq - this.#ackSent >= ACK_EVERY) this.beat(false);
  }
}
