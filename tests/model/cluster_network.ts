/**
 * What lies between a client and its pods: a stream that lands on some pod at each connection, and
 * requests that land on some pod each, late, or never.
 *
 * @module
 */
import type { SubscribeCall } from "../../src/cluster/subscriptions.ts";
import { TopicError } from "../../src/errors.ts";
import type { Fetch } from "../../src/client/types.ts";
import { RecordingSink } from "../../src/testing/recording_sink.ts";
import { readCursor } from "../../src/wire/cursor.ts";
import { Line } from "./client_network.ts";
import type { ClusterPods, PodLife } from "./cluster_pods.ts";

/** Whose stream it is. */
export const USER = "ann";
/** What the stream listens to by its address. */
export const BOUND = ["base"];

const CONNECTION = /"connection":"([^"]+)"/;

/** What becomes of a request. */
export type PostFate =
  | "served"
  /** It waits on its way there, until it is released. */
  | "late"
  /** It is served, and its answer waits until it is released. */
  | "late_answer"
  | "lost"
  | "lost_answer"
  | "refused";

/** A stream on its way from a pod to the client. */
interface Wire {
  readonly line: Line;
  readonly sink: RecordingSink;
  taken: number;
  gone: boolean;
}

/** A request that was made, as the rules need it. */
export interface Posted {
  readonly path: string;
  readonly topic: string;
  readonly connection: string;
  /** After which offset it wants the past: 0 for a history, `Infinity` for none. */
  readonly after: number;
  /** `undefined` while nobody knows; then the status; `null` when the client never learns. */
  outcome: number | null | undefined;
}

/** The network of one client. */
export class ClusterNetwork {
  /** What becomes of the next requests. */
  readonly fates: PostFate[] = [];
  /** Every request, in order. */
  readonly posts: Posted[] = [];
  /** Whether the stream's bytes go through by themselves. */
  fluent = true;
  /** Whether its peer takes nothing. */
  #clogged = false;
  /** The id of the newest connection that has greeted. */
  connection = "";
  readonly #pods: ClusterPods;
  readonly #wires: Wire[] = [];
  readonly #late: (() => void)[] = [];
  readonly #random: () => number;

  /**
   * @param pods The pods.
   * @param random Which pod: a number from 0 to below 1.
   */
  constructor(pods: ClusterPods, random: () => number) {
    this.#pods = pods;
    this.#random = random;
  }

  /** Hand this one to a client. */
  readonly fetch: Fetch = (input, init = {}) => {
    const { pathname } = new URL(String(input));
    if (pathname === "/events") return this.#stream(String(input), init);
    return this.#post(pathname, init);
  };

  /** Whether requests or answers wait to be released. */
  get late(): number {
    return this.#late.length;
  }

  /** Lets one that waits go on. */
  release(index: number): void {
    if (this.#late.length > 0) this.#late.splice(index % this.#late.length, 1)[0]?.();
  }

  /** The peer takes nothing, or everything again. */
  clog(clogged: boolean): void {
    this.#clogged = clogged;
    for (const { sink } of this.#wires) {
      if (clogged) sink.refuse();
      else if (!sink.ended && !sink.destroyed) sink.accept();
    }
  }

  /** From now on nothing is slow. */
  calm(): void {
    this.fates.length = 0;
    this.fluent = true;
    this.clog(false);
  }

  /** The peer takes one chunk. */
  sip(): void {
    for (const { sink } of this.#wires) if (!sink.ended && !sink.destroyed) sink.acceptOne();
  }

  /** Breaks the stream: what is on its way is lost. */
  cut(): void {
    for (const { line } of this.#wires) line.cut(false);
    this.pump();
  }

  /** Lets some bytes through. */
  flow(bytes: number): void {
    this.#carry();
    for (const { line } of this.#wires) line.flow(bytes);
  }

  /** Moves what pods wrote on its way, and, when it flows, to the client. */
  pump(): void {
    this.#carry();
    if (this.fluent) { for (const { line } of this.#wires) line.flow(Number.MAX_SAFE_INTEGER); }
  }

  #carry(): void {
    for (const wire of this.#wires) {
      const { line, sink } = wire;
      for (; wire.taken < sink.chunks.length; wire.taken++) {
        const chunk = sink.chunks[wire.taken] ?? new Uint8Array();
        const [, id] = CONNECTION.exec(new TextDecoder().decode(chunk)) ?? [];
        this.connection = id ?? this.connection;
        line.write(chunk);
      }
      if (sink.ended) line.closing = true;
      if (sink.destroyed) line.cut(false);
      if (line.phase === "over" && !wire.gone) {
        wire.gone = true;
        if (!sink.ended && !sink.destroyed) sink.leave();
      }
    }
    while (this.#wires[0]?.gone) this.#wires.shift();
  }

  #somePod(): PodLife {
    return this.#pods.pod(Math.floor(this.#random() * 60));
  }

  #stream(url: string, init: RequestInit): Promise<Response> {
    const line = new Line("model", url, init);
    const pod = this.#somePod();
    const response = pod.hub.serve(new Request(url, { headers: line.headers }), {
      topics: BOUND,
      user: USER,
    });
    if (response.status !== 200) {
      line.respond(response.status, { "Retry-After": "1" });
      line.flow(1);
    } else {
      const sink = RecordingSink.for(response, !this.#clogged);
      line.respond(200, { "Content-Type": "text/event-stream" });
      this.#wires.push({ line, sink, taken: 0, gone: false });
    }
    return line.answer;
  }

  #post(path: string, init: RequestInit): Promise<Response> {
    const call = JSON.parse(String(init.body)) as SubscribeCall;
    const fate = this.fates.shift() ?? "served";
    const { connection, topic, history } = call;
    const after = history === undefined ? readCursor(call.after ?? "")?.offset ?? Infinity : 0;
    const posted: Posted = { path, topic, connection, after, outcome: undefined };
    this.posts.push(posted);
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        posted.outcome ??= null;
        reject(error);
      };
      init.signal?.addEventListener("abort", () => fail(init.signal?.reason), { once: true });
      const answer = (status: number, body = ""): void => {
        if (fate === "lost_answer") return fail(new TypeError("network error"));
        const go = (): void => {
          if (posted.outcome !== undefined) return;
          posted.outcome = status;
          resolve(respond(status, body));
        };
        if (fate === "late_answer") this.#late.push(go);
        else go();
      };
      const serve = (): void => {
        // One that was given up on its way there never comes.
        if (posted.outcome === undefined) void this.#serve(path, call, answer);
      };
      if (fate === "lost") fail(new TypeError("network error"));
      else if (fate === "refused") answer(503);
      else if (fate === "late") this.#late.push(serve);
      else serve();
    });
  }

  async #serve(
    path: string,
    call: SubscribeCall,
    answer: (status: number, body?: string) => void,
  ): Promise<void> {
    const { subscriptions } = this.#somePod();
    const what = { ...call, user: USER };
    try {
      if (path === "/unsubscribe") {
        return answer(await subscriptions.unsubscribe(what) ? 204 : 404);
      }
      const done = await subscriptions.subscribe(what);
      if (done === null) return answer(404);
      const { verdict, head } = done;
      answer(200, JSON.stringify({ verdict, head: String(head) }));
    } catch (error) {
      answer(error instanceof TopicError || error instanceof TypeError ? 400 : 503);
    }
  }
}

/** All that the client uses of a response. */
function respond(status: number, text: string): Response {
  const chunks = text === "" ? [] : [new TextEncoder().encode(text)];
  const read = (): Promise<unknown> => {
    const value = chunks.shift();
    return Promise.resolve({ done: value === undefined, value });
  };
  const cancel = (): Promise<void> => Promise.resolve();
  const body = { getReader: () => ({ read, cancel }), cancel };
  const ok = status >= 200 && status < 300;
  return { ok, status, headers: new Headers(), body } as unknown as Response;
}
