/**
 * A tab's end of one line to a host: who it is, signs of life, and whether the host still gives any.
 *
 * @module
 */
import { DigestStatusError } from "../../errors.ts";
import { readToTab, type ToHost, type ToTab } from "../worker/protocol.ts";
import { heard, isSilent, type Pulse, SILENT_BEATS } from "../worker/pulse.ts";
import type { TabCore } from "./core.ts";

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
  /** The host takes this tab in: what it says from here on follows. */
  welcomed(): void;
}

type Answer = Extract<ToHost, { readonly kind: "answer" }>;

/** The line. */
export class Link {
  readonly #core: TabCore;
  readonly #events: LinkEvents;
  readonly #wire: Wire;
  readonly #pulse: Pulse;
  /** The host that this tab is attached to; `""` while it is to none. */
  #boot = "";
  /** The number of the next frame. */
  #next = 0;
  #acked = 0;
  #ackSent = 0;
  /** What the host has asked, and not been answered yet. */
  readonly #asked = new Map<number, AbortController>();
  #cancelTick: () => void = () => {};
  #closed = false;

  /**
   * Opens the line, and attaches.
   *
   * @param core The tab.
   * @param dial Opens the wire.
   * @param events What happens.
   */
  constructor(core: TabCore, dial: Dial, events: LinkEvents) {
    this.#core = core;
    this.#events = events;
    this.#pulse = { heardAt: core.clock.now(), asks: 0 };
    this.#wire = dial((data) => this.#receive(data));
    this.send(core.attachment(false));
    this.#arm();
  }

  /** Whether the host has taken this tab in, and has not forgotten it. */
  get attached(): boolean {
    return this.#boot !== "";
  }

  /** Whether the host has been silent for three beats. */
  get silent(): boolean {
    const { clock, timing } = this.#core;
    return isSilent(this.#pulse, clock.now(), timing.heartbeatMs);
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
    if (this.silent) this.#events.silent(this.#core.clock.now() - this.#pulse.heardAt);
    this.#pulse.asks++;
    this.beat(true);
  }

  /**
   * Ends the line.
   *
   * @param reason What the host is told; without it nothing.
   */
  close(reason?: string): void {
    if (reason !== undefined) this.send({ kind: "detach", reason });
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

  #receive(data: unknown): void {
    const message = readToTab(data);
    if (message === null || this.#closed) return;
    heard(this.#pulse, this.#core.clock.now());
    if (message.kind === "who") this.#introduce(message.boot === this.#boot);
    else if (message.kind === "welcome") {
      this.#boot = message.boot;
      this.#next = message.seq + 1;
      this.#acked = this.#ackSent = message.seq;
      this.#events.welcomed();
      this.#core.welcome(message);
    } else if (this.#boot !== "") this.#hear(message);
  }

  /** What comes from the host that this tab is attached to. */
  #hear(message: Exclude<ToTab, { readonly kind: "who" | "welcome" }>): void {
    const core = this.#core;
    const { inbox } = core;
    switch (message.kind) {
      case "frames": {
        const { seq, frames } = message;
        // Something was lost on the way: the same as having been given up.
        if (seq !== this.#next) return this.#introduce(true);
        this.#next += frames.length;
        const boot = this.#boot;
        return inbox.frames(frames, () => this.#delivered(boot, seq + frames.length - 1));
      }
      case "record":
        core.heard(message.record, message.state);
        return inbox.reached(message.cursor);
      case "beat":
        if (message.ask) this.beat(false);
        return inbox.reached(message.cursor);
      case "ask": {
        // At once, whatever waits: without it there may be no stream at all.
        const [controller, reply] = this.#question(message.ask);
        return void core.answer(message, controller.signal).then(reply);
      }
      case "revalidate": {
        const { ask } = message;
        const [controller, reply] = this.#question(ask);
        return inbox.request(message, controller, (failure) => {
          const error = failure?.error;
          const lost = error instanceof DigestStatusError && error.status === 401;
          reply({ kind: "answer", ask, value: null, fault: lost ? "unauthorized" : null });
        });
      }
      case "abort":
        // The stream's revalidation has failed, as far as this tab can know.
        core.doubt = true;
        return this.#asked.get(message.ask)?.abort();
    }
  }

  /**
   * A host does not know this tab.
   *
   * @param lost Whether it did before.
   */
  #introduce(lost: boolean): void {
    this.#boot = "";
    if (lost) this.#core.inbox.lose();
    this.send(this.#core.attachment(lost));
  }

  /** What gives a question up, and what sends its answer: to the host that has asked and no other. */
  #question(ask: number): readonly [AbortController, (answer: Answer) => void] {
    const controller = new AbortController();
    const boot = this.#boot;
    this.#asked.set(ask, controller);
    return [controller, (answer) => {
      this.#asked.delete(ask);
      if (boot === this.#boot) this.send(answer);
    }];
  }

  #delivered(boot: string, seq: number): void {
    if (boot !== this.#boot) return;
    this.#acked = Math.max(this.#acked, seq);
    if (seq - this.#ackSent >= ACK_EVERY) this.beat(false);
  }
}
