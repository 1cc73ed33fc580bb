/**
 * The server's half of subscribing on a live stream, as a test decides it: connections with an id,
 * and requests that are answered when and as a test says.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type {
  Fetch,
  RevalidateContext,
  StreamOptions,
  Subscribed,
} from "../../../src/client/types.ts";
import type { Hello } from "../../../src/wire/hello.ts";
import { joinBytes } from "../../../src/wire/frame.ts";
import { eventually } from "../../support/poll.ts";
import { at, frame, greeting, reaches, watch, type Watched } from "./edges.ts";

/** Where a stream is, and where its topics are subscribed and unsubscribed. */
export const URLS = {
  url: "http://server.test/events",
  subscribeUrl: "http://server.test/subscribe",
  unsubscribeUrl: "http://server.test/unsubscribe",
} as const;

/** One connection. */
export interface Connection {
  readonly id: string;
  /** The cursor that was presented; `null` when none was. */
  readonly presented: string | null;
  /** Sends bytes. */
  send(...pieces: readonly Uint8Array[]): void;
  /** Ends it. */
  end(): void;
}

/** One request that waits for its answer. */
export interface Post {
  readonly path: string;
  readonly init: RequestInit;
  readonly body: Readonly<Record<string, unknown>>;
  /** Answers it. */
  answer(answer: Partial<Subscribed> | Response): void;
  /** Lets it fail. */
  fail(): void;
}

/** The server. */
export class TopicServer {
  readonly connections: Connection[] = [];
  /** Those that nobody has taken yet. */
  readonly posts: Post[] = [];
  /** Every request's body, with its path, in order. */
  readonly heard: (readonly [path: string, body: Readonly<Record<string, unknown>>])[] = [];
  /** What the next hellos say besides. */
  hello: Partial<Hello> = {};
  /** Whether a hello names its connection, as those of the seed do not. */
  names = true;

  /** Hand this one to a client. */
  readonly fetch: Fetch = (input, init = {}) => {
    const { pathname } = new URL(String(input));
    return pathname === "/events" ? this.#stream(init) : this.#post(pathname, init);
  };

  /** The newest connection. */
  get connection(): Connection {
    const [connection] = this.connections.slice(-1);
    if (connection === undefined) throw new Error("There is no connection");
    return connection;
  }

  /** Waits for a request of a path, and takes it. */
  async take(path: "subscribe" | "unsubscribe", topic?: string): Promise<Post> {
    const matches = (post: Post): boolean =>
      post.path === `/${path}` && (topic === undefined || post.body["topic"] === topic);
    const post = await eventually(() => this.posts.find(matches), {
      what: `a request to ${path} ${topic ?? ""}`,
      everyMs: 1,
    });
    this.posts.splice(this.posts.indexOf(post), 1);
    return post;
  }

  #stream(init: RequestInit): Promise<Response> {
    const presented = new Headers(init.headers).get("Last-Event-ID");
    const id = `c${this.connections.length + 1}`;
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({ start: (each) => void (controller = each) });
    const connection: Connection = {
      id,
      presented,
      send: (...pieces) => controller?.enqueue(joinBytes(pieces)),
      end: () => controller?.close(),
    };
    init.signal?.addEventListener("abort", () => {
      try {
        controller?.error(init.signal?.reason);
      } catch {
        // It had ended before.
      }
    });
    this.connections.push(connection);
    const named = this.names ? { connection: id } : {};
    connection.send(
      greeting({ verdict: presented === null ? "fresh" : "resumed", ...named, ...this.hello }),
    );
    return Promise.resolve(
      new Response(body, { headers: { "Content-Type": "text/event-stream" } }),
    );
  }

  #post(path: string, init: RequestInit): Promise<Response> {
    const body = JSON.parse(String(init.body)) as Record<string, unknown>;
    this.heard.push([path, body]);
    return new Promise((resolve, reject) => {
      const post: Post = {
        path,
        init,
        body,
        answer: (answer) =>
          resolve(
            answer instanceof Response
              ? answer
              : Response.json({ verdict: "fresh", head: "0", ...answer }),
          ),
        fail: () => reject(new TypeError("no network")),
      };
      init.signal?.addEventListener("abort", () => {
        const at = this.posts.indexOf(post);
        if (at !== -1) this.posts.splice(at, 1);
        reject(init.signal?.reason);
      });
      this.posts.push(post);
    });
  }
}

/** A frame of a topic's history: it moves no cursor. */
export function history(phase: "begin" | "end", topic: string): Uint8Array {
  return new TextEncoder().encode(
    `event: sse:history\ndata: ${JSON.stringify({ phase, topic })}\n\n`,
  );
}

/** A live frame. */
export const live = frame;

/** A stream at a server of topics, and the revalidations it has asked for. */
export interface Streaming extends Watched {
  readonly server: TopicServer;
  readonly runs: RevalidateContext[];
}

/** Makes a stream at a server of topics; it is open unless `start` is false. */
export async function streaming(
  { start = true, ...options }: Partial<StreamOptions> & { readonly start?: boolean } = {},
): Promise<Streaming> {
  const server = new TopicServer();
  const runs: RevalidateContext[] = [];
  const watched = watch({
    ...URLS,
    fetch: server.fetch,
    revalidate: (context) => void runs.push(context),
    ...options,
  });
  if (start) {
    watched.stream.start();
    await reaches(watched, "open");
  }
  return { ...watched, server, runs };
}

/** Runs a test with such a stream, which must wait for nothing once it is stopped. */
export async function withTopics(
  body: (each: Streaming) => Promise<void>,
  options: Partial<StreamOptions> & { readonly start?: boolean } = {},
): Promise<void> {
  const each = await streaming(options);
  await body(each);
  each.stream.stop();
  assertEquals(each.clock.pending, 0);
}

/** Subscribes topics, which the server confirms. */
export async function subscribed(each: Streaming, ...topics: readonly string[]): Promise<void> {
  for (const topic of topics) {
    const answer = each.stream.subscribe(topic);
    (await each.server.take("subscribe", topic)).answer({});
    await answer;
  }
}

/** Ends the connection, and waits for the next. */
export async function reconnect(each: Streaming): Promise<void> {
  const { length } = each.server.connections;
  each.server.connection.end();
  await reaches(each, "backoff");
  while (each.stream.state() === "backoff") each.clock.skip();
  await reaches(each, "open");
  assertEquals(each.server.connections.length, length + 1);
}

/** Moves the cursor by a frame of the live stream. */
export async function move(each: Streaming, offset: number): Promise<void> {
  each.server.connection.send(live(offset, `${offset}`));
  await eventually(() => each.stream.cursor() === at(offset), { what: "the frame", everyMs: 1 });
}
