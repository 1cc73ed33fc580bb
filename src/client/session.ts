/**
 * One connection's conversation: bytes in, reports out. It knows the order in which a server of this
 * wire speaks, and says so when one does not keep to it.
 *
 * @module
 */
import { ProtocolError } from "../errors.ts";
import { CONTROL } from "../wire/control.ts";
import { readExpiring, readLag, readPhase, readReset } from "../wire/control_data.ts";
import type { Cursor } from "../wire/cursor.ts";
import { type Hello, parseHello } from "../wire/hello.ts";
import { type ParsedEvent, Parser } from "../wire/parser.ts";
import type { ConnectFailure, Disconnect, LifecycleRecord } from "./records.ts";
import type { StreamEvent } from "./step.ts";

/** What a conversation needs. */
export interface SessionOptions {
  /** Which attempt it belongs to. */
  readonly generation: number;
  /** The cursor that was presented. */
  readonly presented: Cursor | null;
  /** The revisions of the wire that are accepted, from and to. */
  readonly wires: readonly [number, number];
  /** The most characters held of one event. */
  readonly maxBufferBytes: number;
  /** Binds the version map to the epoch of a hello. Returns whether that cleared it. */
  bind(hello: Hello): boolean;
  /** Takes each report. */
  report(event: StreamEvent): void;
  /** Takes what is only told, and changes nothing. */
  tell(record: LifecycleRecord): void;
  /** A keepalive came. */
  keepalive(): void;
  /** A topic's history began or ended. */
  history(phase: "begin" | "end", topic: string): void;
}

/** The conversation. */
export class Session {
  readonly #options: SessionOptions;
  readonly #parser: Parser;
  #hello: Hello | null = null;
  #over = false;

  /**
   * Begins it.
   *
   * @param options What it needs.
   */
  constructor(options: SessionOptions) {
    this.#options = options;
    this.#parser = new Parser({
      onEvent: (event) => this.#event(event),
      onId: (id) => {
        if (!this.#over && this.#hello !== null) this.#report({ type: "mark", id });
      },
      onComment: (text) => {
        if (!this.#over && this.#hello?.keepaliveEvent === "" && text === "keepalive") {
          options.keepalive();
        }
      },
      onRetry: (ms) => {
        if (!this.#over) this.#report({ type: "retry", ms });
      },
    }, { maxBufferBytes: options.maxBufferBytes });
  }

  /** Whether it is over: nothing is read or reported any more. */
  get over(): boolean {
    return this.#over;
  }

  /** Ends it without a report: the attempt was given up. */
  abandon(): void {
    this.#over = true;
  }

  /**
   * Reads on.
   *
   * @param bytes The next bytes.
   */
  feed(bytes: Uint8Array): void {
    this.#report({ type: "bytes" });
    if (this.#over) return;
    try {
      this.#parser.feed(bytes);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#break("too_large", "too_large", error.message);
    }
  }

  /**
   * The bytes ended, cleanly or not: no browser tells the two apart reliably.
   *
   * @param detail What the platform said.
   */
  end(detail: string): void {
    this.#break("hello_missing", "ended", detail);
  }

  #event({ name, data, id }: ParsedEvent): void {
    if (this.#over) return;
    const hello = this.#hello;
    if (hello === null) return this.#greet(name, data);
    if (name === hello.keepaliveEvent && name !== "") return this.#options.keepalive();
    if (name.startsWith("sse:")) return this.#control(name, data);
    // An empty id is no cursor of this wire, and a frame without one moves nothing.
    const frame = { type: name === "" ? "message" : name, data, id: id === "" ? null : id };
    this.#report({ type: "frame", frame });
  }

  #greet(name: string, data: string): void {
    if (name !== CONTROL.hello) {
      const shown = JSON.stringify(name.slice(0, 40));
      return this.#fail("hello_missing", `the first event is ${shown}`);
    }
    let hello: Hello;
    try {
      hello = parseHello(data);
    } catch (error) {
      return this.#fail("hello_invalid", String(error));
    }
    const [least, most] = this.#options.wires;
    if (hello.wire < least || hello.wire > most) {
      this.#options.tell({ kind: "wire_unsupported", wire: hello.wire });
      return this.#fail("wire_unsupported", `wire ${hello.wire} is not from ${least} to ${most}`);
    }
    this.#hello = hello;
    const { presented } = this.#options;
    this.#report({ type: "hello", hello, presented, cleared: this.#options.bind(hello) });
  }

  #control(name: string, data: string): void {
    switch (name) {
      case CONTROL.hello:
        return this.#break("hello_invalid", "second_hello", "");
      case CONTROL.reset:
        return this.#report({ type: "reset", reason: readReset(data) });
      case CONTROL.lag:
        return this.#report({ type: "lag", lag: readLag(data) });
      case CONTROL.snapshot:
        if (readPhase(data).phase === "end") this.#report({ type: "repaired" });
        return;
      case CONTROL.history: {
        const { phase, topic } = readPhase(data);
        if (phase !== null) this.#options.history(phase, topic);
        return;
      }
      case CONTROL.expiring:
        return this.#options.tell({ kind: "expiring", inMs: readExpiring(data) });
      default:
        return this.#options.tell({ kind: "unknown_frame", type: name.slice(0, 64) });
    }
  }

  /** Ends it as a failed attempt, or, after the hello, as a stream that ended. */
  #break(before: ConnectFailure, after: Disconnect, detail: string): void {
    if (this.#hello === null) return this.#fail(before, detail);
    if (this.#over) return;
    this.#over = true;
    this.#report({ type: "ended", reason: after, detail: detail.slice(0, 200) });
  }

  #fail(reason: ConnectFailure, detail: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#report({
      type: "failed",
      reason,
      status: 200,
      detail: detail.slice(0, 200),
      retryAfterMs: 0,
      final: false,
    });
  }

  #report(event: Unaddressed<StreamEvent>): void {
    this.#options.report({ ...event, generation: this.#options.generation } as StreamEvent);
  }
}

/** A report without the attempt it belongs to. */
type Unaddressed<E> = E extends { readonly generation: number } ? Omit<E, "generation"> : never;
