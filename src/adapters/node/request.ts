/**
 * A request of Node as the Web's `Request`.
 *
 * @module
 */
import { isHost } from "../address.ts";
import type { NodeRequest } from "./types.ts";

/** A request that no `Request` can stand for; its message is fit for the client. */
export class BadRequestError extends Error {}

/** Valid HTTP which the fetch standard forbids; not every runtime does. */
const FORBIDDEN_METHOD = /^(?:CONNECT|TRACE|TRACK)$/i;

/**
 * Makes a `Request`.
 *
 * @param incoming Node's request.
 * @param signal Aborts when the client leaves. It reaches the request's own signal only as long as
 * the request is held: on Node that link is weak.
 * @returns The request; a body is read from the socket only when it is asked for.
 * @throws {BadRequestError} When the target, the host, a header or the method is malformed.
 */
export function toRequest(incoming: NodeRequest, signal: AbortSignal): Request {
  const { method = "GET" } = incoming;
  if (FORBIDDEN_METHOD.test(method)) throw new BadRequestError("The method cannot be served");
  const url = urlOf(incoming);
  // HTTP/2 lets a client write its method as it likes, and the fetch standard reads it so.
  const hasBody = !/^(?:GET|HEAD)$/i.test(method);
  const init: RequestInit & { duplex?: "half" } = {
    method,
    headers: headersOf(incoming),
    signal,
    // The fetch standard asks for `duplex` beside a stream; not every type of `RequestInit` has it.
    ...(hasBody ? { body: bodyOf(incoming), duplex: "half" } : {}),
  };
  try {
    return new Request(url, init);
  } catch {
    throw new BadRequestError("The request is not one that can be served");
  }
}

function urlOf(incoming: NodeRequest): string {
  const target = incoming.url ?? "/";
  const text = target.startsWith("/") ? origin(incoming) + target : absolute(incoming, target);
  try {
    // `href` and not the text: it has no dot segments left that a router could trip over.
    return new URL(text).href;
  } catch {
    throw new BadRequestError("The request target or the Host header is malformed");
  }
}

/** A target that starts with a slash is a path, two slashes too: a base URL would take a host. */
function origin(incoming: NodeRequest): string {
  const scheme = incoming.socket.encrypted ? "https" : "http";
  // HTTP/1.0 knows no Host; Node itself refuses HTTP/1.1 without one.
  const host = incoming.headers[":authority"] ?? incoming.headers.host ?? "localhost";
  if (typeof host !== "string" || !isHost(host)) {
    throw new BadRequestError("The Host header is malformed");
  }
  return `${scheme}://${host}`;
}

/** What a proxy is sent: RFC 9112, section 3.2.2 says that every server must take it. */
function absolute(incoming: NodeRequest, target: string): string {
  if (target === "*") return `${origin(incoming)}/*`;
  const host = /^https?:\/\/([^/?#]*)/i.exec(target)?.[1];
  if (host === undefined || !isHost(host)) {
    throw new BadRequestError("The request target is malformed");
  }
  return target;
}

function headersOf(incoming: NodeRequest): Headers {
  const headers = new Headers();
  try {
    // Node has joined what was sent twice, cookies by a semicolon.
    for (const [name, value] of Object.entries(incoming.headers)) {
      if (value === undefined || name.startsWith(":")) continue;
      if (typeof value === "string") headers.set(name, value);
      else for (const one of value) headers.append(name, one);
    }
  } catch {
    throw new BadRequestError("A header is malformed");
  }
  return headers;
}

/** By hand: `Readable.toWeb` throws where nobody can catch it when the client leaves half-way. */
function bodyOf(incoming: NodeRequest): ReadableStream<Uint8Array> {
  let state: "idle" | "open" | "done" = "idle";
  const listen = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const settle = (last: () => void): void => {
      if (state === "done") return;
      state = "done";
      last();
    };
    incoming.on("data", (chunk) => {
      if (state === "done" || !(chunk instanceof Uint8Array)) return;
      incoming.pause();
      controller.enqueue(chunk);
    });
    incoming.on("end", () => settle(() => controller.close()));
    incoming.on("error", (error) => settle(() => controller.error(error)));
    incoming.on("close", () => settle(() => controller.error(new Error("The client left"))));
  };
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (state === "idle") {
        state = "open";
        listen(controller);
      }
      incoming.resume();
    },
    cancel() {
      state = "done";
      // What is still to come is thrown away, or the connection's next request would never be read.
      incoming.resume();
    },
  }, { highWaterMark: 0 });
}
