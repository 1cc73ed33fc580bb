/**
 * What the Node adapter needs of a request and a response: what `node:http`, `node:https`, the
 * compatibility API of `node:http2`, and Deno's and Bun's copies of them have in common.
 *
 * @module
 */

/** A callback of an event. */
export type NodeListener = (...args: unknown[]) => void;

/** A socket. */
export interface NodeSocket {
  /** Whether it carries TLS. */
  readonly encrypted?: boolean | undefined;
  /** Sends what was written at once, instead of waiting for more. */
  setNoDelay?(on: boolean): unknown;
  /** Writes; answers whether it takes more before the next `drain`. */
  write?(chunk: Uint8Array): boolean;
  /** Calls back at each event of that name. */
  on?(event: string, listener: NodeListener): unknown;
  /** No longer calls back. */
  off?(event: string, listener: NodeListener): unknown;
}

/** An `IncomingMessage` or an `Http2ServerRequest`. */
export interface NodeRequest {
  /** The method. */
  readonly method?: string | undefined;
  /** The request target, as it stands in the request line. */
  readonly url?: string | undefined;
  /** 1 or 2. */
  readonly httpVersionMajor: number;
  /** The headers, names in lower case; in HTTP/2 the pseudo-headers too. */
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  /** Its socket. */
  readonly socket: NodeSocket;
  /** Calls back at each event of that name. */
  on(event: string, listener: NodeListener): unknown;
  /** Stops the flow of the body. */
  pause(): unknown;
  /** Lets the body flow. */
  resume(): unknown;
}

/** A `ServerResponse` or an `Http2ServerResponse`. */
export interface NodeResponse {
  /** Whether the head can no longer be changed. */
  readonly headersSent: boolean;
  /** Whether `end` was called. */
  readonly writableEnded: boolean;
  /** Whether all was handed to the operating system. */
  readonly writableFinished: boolean;
  /** Whether its socket or stream is gone; HTTP/2's response does not say. */
  readonly destroyed?: boolean | undefined;
  /** How often it was corked and not uncorked. */
  readonly writableCorked?: number | undefined;
  /** Whether it uses the chunked transfer coding; HTTP/2's response does not say. */
  readonly chunkedEncoding?: boolean | undefined;
  /** Its socket; none while an earlier response of a pipeline goes first. */
  readonly socket?: NodeSocket | null | undefined;
  /** HTTP/2's stream. */
  readonly stream?:
    | { readonly destroyed: boolean; close(code?: number): unknown }
    | undefined;
  /** Sets the status and the headers. */
  writeHead(status: number, headers: Record<string, string | string[]>): unknown;
  /** Sends the head now; HTTP/2 always does. */
  flushHeaders?(): void;
  /** Writes; answers whether it takes more before the next `drain`. */
  write(chunk: Uint8Array): boolean;
  /** Ends the response after what was written. */
  end(): unknown;
  /** Drops the response and its socket or stream. */
  destroy(): unknown;
  /** Bounds how long its socket may be silent; 0 means not at all. */
  setTimeout(ms: number): unknown;
  /** Calls back at each event of that name. */
  on(event: string, listener: NodeListener): unknown;
}

/** A listener for the requests of a server of Node: also a middleware of Express or Connect. */
export type NodeHandler = (incoming: NodeRequest, outgoing: NodeResponse) => void;
