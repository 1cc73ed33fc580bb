/**
 * The Web's `Response` written to a response of Node.
 *
 * @module
 */
import { type Peer, peerOf } from "../../hub/sink.ts";
import { KEEPALIVE_MS, WRITE_TIMEOUT_BEATS } from "../../wire/timing.ts";
import { destroy, drive, isGone } from "./sink.ts";
import type { NodeRequest, NodeResponse } from "./types.ts";

/** How long the last bytes of a hub's stream may take: the default write timeout. */
const FLUSH_MS = WRITE_TIMEOUT_BEATS * KEEPALIVE_MS;

/** Node's own affair on HTTP/1.1, and illegal on HTTP/2, where Safari drops the whole response. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Sends a response.
 *
 * @param response What the handler answered.
 * @param incoming The request it answers.
 * @param outgoing Where it goes. It must have an `error` listener by now.
 * @param direct Whether a hub's connection may drive `outgoing` itself.
 * @throws {Error} When the head cannot be sent: it is out already, or Node refuses it.
 */
export function send(
  response: Response,
  incoming: NodeRequest,
  outgoing: NodeResponse,
  direct: boolean,
): void {
  const { body } = response;
  const peer = peerOf(body);
  if (isGone(outgoing)) return discard(body, peer);
  if (outgoing.headersSent) {
    discard(body, peer);
    throw new Error("Cannot send the response: its head was sent by somebody else");
  }
  if (body?.locked) throw new Error("Cannot send the response: its body has been read");
  const bare = isBodiless(incoming, response.status);
  const headers = headersOf(response.headers);
  if (body === null && !bare) headers["content-length"] ??= "0";
  try {
    outgoing.writeHead(response.status, headers);
  } catch (error) {
    discard(body, peer);
    throw error;
  }
  if (body === null || bare) {
    discard(body, peer);
    outgoing.end();
    return;
  }
  if (peer !== undefined) keepOpen(incoming, outgoing);
  if (peer === undefined || !direct) {
    pipe(body, outgoing, peer !== undefined);
    return;
  }
  // Locked: whoever else would read it, a middleware say, is to fail loudly.
  body.getReader();
  drive(peer, outgoing);
}

function isBodiless(incoming: NodeRequest, status: number): boolean {
  return incoming.method?.toUpperCase() === "HEAD" || status === 204 || status === 205 ||
    status === 304;
}

/** `cancel` rejects on a stream that has failed: there is nothing left to do then. */
function discard(body: ReadableStream<Uint8Array> | null, peer: Peer | undefined): void {
  peer?.left();
  if (body !== null && !body.locked) body.cancel().catch(() => {});
}

function headersOf(headers: Headers): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    if (HOP_BY_HOP.has(name)) continue;
    const before = out[name];
    // Only Set-Cookie comes more than once; joining it would break it.
    if (before === undefined) out[name] = name === "set-cookie" ? [value] : value;
    else if (typeof before !== "string") before.push(value);
  }
  return out;
}

/** A stream is silent between keepalives, however the server bounds other requests. */
function keepOpen(incoming: NodeRequest, outgoing: NodeResponse): void {
  outgoing.setTimeout(0);
  incoming.socket.setNoDelay?.(true);
}

/**
 * Copies a body, one chunk at a time, at the pace of the socket.
 *
 * @param body The body.
 * @param outgoing Where it goes.
 * @param isStream Whether it is a hub's stream, whose peer may have stopped reading.
 * @returns Settles when it has ended, either way; it never rejects.
 */
async function pipe(
  body: ReadableStream<Uint8Array>,
  outgoing: NodeResponse,
  isStream: boolean,
): Promise<void> {
  let wake = (): void => {};
  let open = true;
  const reader = body.getReader();
  const stop = (): void => {
    open = false;
    // The reader of a peer that left would wait for the next chunk, maybe for ever.
    reader.cancel().catch(() => {});
    wake();
  };
  const cut = (): void => {
    if (open) destroy(outgoing);
  };
  // A body may fail while its peer takes nothing: waiting for the drain would hold the socket. So
  // would one that the hub ended in good order: nobody else bounds how long its last bytes may take.
  reader.closed.then(() => {
    if (!isStream || !open) return;
    const patience = setTimeout(cut, FLUSH_MS);
    outgoing.on("close", () => clearTimeout(patience));
  }, cut);
  outgoing.on("drain", () => wake());
  outgoing.on("close", stop);
  outgoing.on("error", stop);
  // The head goes with the first chunk, in one packet; but not later than now if that takes time.
  const first = setTimeout(() => {
    if (open) outgoing.flushHeaders?.();
  }, 0);
  try {
    while (open) {
      const { done, value } = await reader.read();
      clearTimeout(first);
      if (done || !open) break;
      if (outgoing.write(value)) continue;
      // A peer that leaves while its socket is full causes no drain any more: `stop` wakes too.
      if (open) await new Promise<void>((resolve) => wake = resolve);
    }
    if (open) outgoing.end();
  } catch {
    // Half a response must not look whole.
    destroy(outgoing);
  } finally {
    clearTimeout(first);
  }
}
