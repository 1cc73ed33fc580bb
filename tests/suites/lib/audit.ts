/**
 * What holds on every connection, whatever a test is about: checked on each block as it arrives.
 *
 * @module
 */
import { type Block, show, WireError } from "./blocks.ts";

/** The hello, as it stands on the wire. */
export interface WireHello {
  readonly wire: number;
  readonly epoch: string;
  readonly floor: string;
  readonly head: string;
  readonly resumed: boolean;
  readonly verdict: string;
  readonly keepalive_ms: number;
  readonly keepalive_event: string;
  readonly connection: string;
  readonly repair?: boolean;
}

/** What `sse:lag` says. */
export interface WireLag {
  readonly missed: number | null;
  readonly from: string;
  readonly to: string;
}

/** Watches one connection. */
export class Audit {
  /** The hello, once it came. */
  hello: WireHello | null = null;
  /** What a client would present to resume: the newest id; `""` before the first. */
  cursor: string;
  /** The offset of {@linkcode cursor}, or where the hello put the connection; −1 before the hello. */
  offset = -1;
  /** The reason of `sse:reset`, once it came. */
  reset: string | null = null;
  /** Every `sse:lag` that came. */
  readonly lags: WireLag[] = [];
  readonly #presented: string;
  #blocks = 0;
  #dropped: string | null = null;

  /** @param presented The cursor that the request presented; `""` for none. */
  constructor(presented: string) {
    this.#presented = presented;
    this.cursor = presented;
  }

  /**
   * Looks at the next block.
   *
   * @param block The block.
   * @throws {WireError} When it may not stand there.
   */
  see(block: Block): void {
    const place = this.#blocks++;
    if (this.reset !== null) throw fault("A block follows sse:reset", block);
    if (this.#dropped !== null && !(block.kind === "event" && block.name === "sse:lag")) {
      throw fault("The comment of a hole is not followed by its sse:lag", block);
    }
    if ((block.kind === "retry") !== (place === 0)) throw fault("retry: is not first, once", block);
    if (block.kind === "retry") {
      if (block.ms < 1) throw fault("retry: is 0", block);
      return;
    }
    const isHello = block.kind === "event" && block.name === "sse:hello";
    if (isHello !== (place === 1)) throw fault("The hello is not second, once", block);
    if (block.kind === "id") return this.#see(block.id, true, block);
    if (block.kind === "comment") {
      if (block.text.startsWith("dropped ")) this.#dropped = block.text;
      return;
    }
    if (block.name.startsWith("sse:") && block.id !== null) {
      throw fault("A frame of the library carries an id", block);
    }
    if (isHello) this.#greet(block.data, block);
    else if (block.name === "sse:reset") this.reset = reason(block.data, block);
    else if (block.name === "sse:lag") this.#lag(block.data, block);
    else if (block.id !== null) this.#see(block.id, false, block);
  }

  #greet(data: string, block: Block): void {
    const hello = JSON.parse(data) as WireHello;
    if (typeof hello.head !== "string" || typeof hello.resumed !== "boolean") {
      throw fault("The hello lacks its head or its answer", block);
    }
    if (hello.resumed !== (hello.verdict === "resumed")) {
      throw fault("The hello's resumed is not what its verdict says", block);
    }
    this.hello = hello;
    this.offset = hello.resumed ? offsetOf(this.#presented) : Number(hello.head);
  }

  #see(id: string, alone: boolean, block: Block): void {
    const offset = offsetOf(id);
    if (!id.startsWith(`${this.hello?.epoch}:`) || !Number.isSafeInteger(offset)) {
      throw fault("The id is no cursor of the hello's epoch", block);
    }
    if (alone ? offset < this.offset : offset <= this.offset) {
      throw fault(`The id does not go beyond ${this.offset}`, block);
    }
    this.offset = offset;
    this.cursor = id;
  }

  #lag(data: string, block: Block): void {
    const lag = JSON.parse(data) as WireLag;
    const comment = lag.missed === null ? null : `dropped ${lag.missed}`;
    if (this.#dropped !== comment) throw fault(`sse:lag follows ": ${this.#dropped}"`, block);
    this.#dropped = null;
    if (offsetOf(lag.from) < this.offset) {
      throw fault(`The hole starts below ${this.offset}`, block);
    }
    if (offsetOf(lag.to) <= offsetOf(lag.from)) throw fault("The hole is empty", block);
    this.lags.push(lag);
    this.offset = offsetOf(lag.to);
  }
}

/** The offset of a cursor; `NaN` when it is none. */
export function offsetOf(cursor: string): number {
  const match = /^[0-9a-f]{16}:(0|[1-9]\d*)$/.exec(cursor);
  return match === null ? NaN : Number(match[1]);
}

function reason(data: string, block: Block): string {
  const reset = JSON.parse(data) as { reason?: unknown };
  if (reset.reason !== "slow" && reset.reason !== "shutdown") {
    throw fault("sse:reset has no reason of the wire", block);
  }
  return reset.reason;
}

function fault(what: string, block: Block): WireError {
  return new WireError(`${what}: ${show(block.raw)}`);
}
