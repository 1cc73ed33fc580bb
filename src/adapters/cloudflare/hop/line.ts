/**
 * The Worker's side of a stream: it outlives the sockets that feed it.
 *
 * The Worker owns all that needs a clock: keepalives, the write timeout, the end of an authority, and
 * coming back to an object that was reset. One timer is pending for as long as the stream is open, for
 * a Worker that waits for nothing is taken for hung.
 *
 * @module
 */
import type { Clock, Timer } from "../../../hub/clock.ts";
import { expiringFrame, keepaliveFrame, resetFrame } from "../../../wire/control.ts";
import { formatCursor } from "../../../wire/cursor.ts";
import { encodeIdOnly, joinBytes } from "../../../wire/frame.ts";
import { WATCHDOG_FLOOR_MS } from "../../../wire/timing.ts";
import { HopBody } from "./body.ts";
import { askInTime, type Dial, type LineSocket, refuse } from "./dial.ts";
import {
  ACK_BYTES,
  type Begin,
  CLOSE,
  type Control,
  decodePart,
  encodeAck,
  PING,
  readControl,
} from "./wire.ts";

/** For how long a Worker tries to come back to an object, in milliseconds. */
export const PATIENCE_MS = 30_000;

/** The first wait before it does, at random below it, and the longest. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4000;

/** How long before its end a client is told that its authority ends, in milliseconds. */
const NOTICE_MS = 60_000;

/** The longest that a timer can wait, in milliseconds. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** Until the first message says better: how soon one must come, in milliseconds. */
const BEGIN_MS = 15_000;

/** One client's stream. */
export class HopLine {
  readonly #dial: Dial;
  readonly #clock: Clock;
  readonly #body: HopBody;
  #socket: LineSocket | null = null;
  #begin: Begin | null = null;
  /** Whether its hello has come. */
  #begun = false;
  #offset = 0;
  #resumable = false;
  #pasts = 0;
  /** Bytes of this socket that were taken, and how many of them were acknowledged. */
  #taken = 0;
  #acked = 0;
  #over = false;
  #keepalive: Timer;
  #expiry: Timer | null = null;
  /** Since when bytes have waited and none was taken, on the monotonic clock. */
  #stalledSince: number | null = null;
  /** When the object, or the platform for it, was heard last. */
  #heardAt: number;

  /**
   * @param socket The socket, not accepted yet.
   * @param dial How to come back.
   * @param clock The clock.
   */
  constructor(socket: LineSocket, dial: Dial, clock: Clock) {
    this.#dial = dial;
    this.#clock = clock;
    this.#body = new HopBody({
      asked: () => this.#stalledSince = null,
      taken: (bytes) => this.#tookBytes(bytes),
      left: () => this.leave(),
      ended: () => this.#keepalive.cancel(),
    });
    this.#heardAt = clock.monotonic();
    this.#keepalive = clock.after(BEGIN_MS, () => this.#lost(this.#socket));
    this.#attach(socket);
  }

  /** The response's body. */
  get stream(): ReadableStream<Uint8Array> {
    return this.#body.stream;
  }

  /** The client has left. */
  leave(): void {
    this.#stop();
    this.#closeSocket(CLOSE.done, "left");
  }

  #attach(socket: LineSocket): void {
    this.#socket = socket;
    this.#heardAt = this.#clock.monotonic();
    // Not a Blob, which is read only later.
    (socket as { binaryType?: string }).binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) => {
      if (socket === this.#socket && !this.#over) this.#hear(data);
    });
    socket.addEventListener("close", () => this.#lost(socket));
    socket.addEventListener("error", () => this.#lost(socket));
    socket.accept();
  }

  #hear(data: unknown): void {
    this.#heardAt = this.#clock.monotonic();
    const part = data instanceof ArrayBuffer ? decodePart(data) : null;
    if (part !== null) {
      const { offset, resumable, bytes } = part;
      this.#offset = offset;
      this.#resumable = resumable;
      this.#body.write(bytes, true);
      this.#noteStall();
      // Nothing of the Worker's own comes before the hello.
      if (!this.#begun && bytes.length > 0) {
        this.#begun = true;
        this.#expire(this.#begin?.expiresAt ?? null);
      }
    }
    const control = readControl(data);
    if (control !== null) this.#obey(control);
  }

  #obey(control: Control): void {
    switch (control.type) {
      case "begin":
        if (this.#begin === null) this.#beat(control);
        this.#begin = control;
        if (this.#begun) this.#expire(control.expiresAt);
        break;
      case "pasts":
        this.#pasts = control.count;
        this.#resumable = false;
        break;
      case "expires":
        this.#expire(control.at);
        break;
      case "end":
        this.#finish();
    }
  }

  #tookBytes(bytes: number): void {
    this.#noteStall();
    this.#taken += bytes;
    this.#acknowledge();
  }

  #acknowledge(): void {
    if (this.#socket === null || this.#taken - this.#acked < ACK_BYTES) return;
    this.#acked = this.#taken;
    this.#send(encodeAck(this.#taken));
  }

  #noteStall(): void {
    if (!this.#body.idle) this.#stalledSince ??= this.#clock.monotonic();
  }

  /** Every interval, busy or not: acknowledgements count keepalives. */
  #beat(begin: Begin): void {
    this.#keepalive.cancel();
    this.#keepalive = this.#clock.after(begin.keepaliveMs, () => {
      this.#beat(begin);
      const now = this.#clock.monotonic();
      if (now - (this.#stalledSince ?? now) >= begin.writeTimeoutMs) return this.#giveUp();
      this.#writeKeepalive(begin);
      if (this.#socket === null) return;
      const silence = Math.max(2 * begin.keepaliveMs, WATCHDOG_FLOOR_MS);
      if (now - this.#heardAt > silence) this.#lost(this.#socket);
      else this.#send(PING);
    });
  }

  #writeKeepalive({ epoch, keepaliveEvent }: Begin): void {
    const keepalive = keepaliveFrame(keepaliveEvent);
    if (!this.#body.idle) {
      this.#noteStall();
      // At most one waits; and where frames do, it does not tell where the client stands.
      if (this.#body.notes === 0) this.#body.write(keepalive, false);
      return;
    }
    const id = encodeIdOnly(formatCursor({ epoch, offset: this.#offset }));
    this.#body.write(this.#resumable ? joinBytes([id, keepalive]) : keepalive, false);
  }

  #expire(at: number | null): void {
    this.#expiry?.cancel();
    if (at === null) return;
    const left = Math.max(0, at - this.#clock.now());
    if (left > NOTICE_MS) {
      const wait = Math.min(left - NOTICE_MS, LONGEST_TIMER_MS);
      this.#expiry = this.#clock.after(wait, () => this.#expire(at));
      return;
    }
    this.#body.write(expiringFrame(Math.ceil(left)), false);
    this.#expiry = this.#clock.after(left, () => this.#finish());
  }

  /** The socket leads nowhere any more. */
  #lost(socket: LineSocket | null): void {
    if (this.#over || socket !== this.#socket) return;
    this.#closeSocket(CLOSE.broken, "lost");
    if (this.#begin === null || !this.#resumable) return this.#sendAway();
    void this.#comeBack(this.#begin);
  }

  async #comeBack({ connection, epoch }: Begin): Promise<void> {
    const until = this.#clock.monotonic() + PATIENCE_MS;
    for (let wait = FIRST_WAIT_MS;; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      // At random, for all streams of an object are lost in the same instant.
      await new Promise<void>((resolve) => this.#clock.after(Math.random() * wait, resolve));
      if (this.#over) return;
      const after = formatCursor({ epoch, offset: this.#offset });
      // From here on the two count anew: what waits is as if it had been sent over the new socket.
      this.#taken = 0;
      this.#acked = 0;
      const { waiting } = this.#body;
      const answer = await askInTime(this.#dial, this.#clock, {
        ...{ connection, after, pasts: this.#pasts, waiting },
      });
      if (answer !== null && answer !== "gone") {
        if (!this.#over) {
          this.#attach(answer);
          return this.#acknowledge();
        }
        return refuse(answer, CLOSE.done);
      }
      if (answer === "gone" || this.#clock.monotonic() >= until) return this.#sendAway();
    }
  }

  /** What was promised cannot be kept: the client comes back, and is judged anew. */
  #sendAway(): void {
    if (this.#over) return;
    // Before its hello a stream says nothing.
    if (this.#begun) this.#body.write(resetFrame("shutdown"), false);
    this.#finish();
  }

  /** Nothing comes any more; what was written still leaves. */
  #finish(): void {
    if (this.#over) return;
    this.#stop();
    this.#closeSocket(CLOSE.done, "left");
    const patience = this.#begin?.writeTimeoutMs ?? BEGIN_MS;
    this.#keepalive = this.#clock.after(patience, () => this.#body.drop());
    this.#body.end();
  }

  /** The client takes nothing. */
  #giveUp(): void {
    this.#stop();
    this.#closeSocket(CLOSE.stalled, "stalled");
    this.#body.drop();
  }

  #stop(): void {
    this.#over = true;
    this.#keepalive.cancel();
    this.#expiry?.cancel();
  }

  #send(message: string): void {
    try {
      this.#socket?.send(message);
    } catch {
      this.#lost(this.#socket);
    }
  }

  #closeSocket(code: number, reason: string): void {
    const socket = this.#socket;
    this.#socket = null;
    try {
      socket?.close(code, reason);
    } catch {
      // It is closed.
    }
  }
}
