/**
 * What is used of a Durable Object's WebSockets, and how a socket carries a connection.
 *
 * @module
 */
import type { DurableObjectStorage } from "../../../journal/sqlite/durable_object.ts";
import type { HopPort, HopSaved } from "./types.ts";
import { AckWindow } from "./window.ts";
import { CLOSE, HOP_TAG, PING, PONG, readAck } from "./wire.ts";

/** A WebSocket as its object sees it. */
export interface HopSocket {
  /** Sends a message. */
  send(message: Uint8Array | string): void;
  /** Closes it. */
  close(code?: number, reason?: string): void;
  /** Keeps a small value as long as the socket is open, whatever becomes of the object's memory. */
  serializeAttachment(value: unknown): void;
  /** The value that was kept. */
  deserializeAttachment(): unknown;
}

/** What is used of an object's state. */
export interface HopState {
  readonly storage: DurableObjectStorage;
  acceptWebSocket(socket: HopSocket, tags: string[]): void;
  getWebSockets(tag: string): HopSocket[];
  getWebSocketAutoResponse(): unknown;
  setWebSocketAutoResponse(pair: unknown): void;
}

/** What a Workers runtime has beside the Web's standards. */
interface Globals {
  readonly WebSocketPair: new () => { readonly 0: HopSocket; readonly 1: HopSocket };
  readonly WebSocketRequestResponsePair: new (request: string, response: string) => unknown;
}

/** Two ends of one socket: the first is handed to the Worker, the second is the object's. */
export function socketPair(): { readonly 0: HopSocket; readonly 1: HopSocket } {
  const { WebSocketPair } = globalThis as unknown as Globals;
  return new WebSocketPair();
}

/**
 * Accepts a socket that does not keep its object awake.
 *
 * @param state The object's state.
 * @param socket The object's end.
 */
export function acceptHop(state: HopState, socket: HopSocket): void {
  state.acceptWebSocket(socket, [HOP_TAG]);
  // There is one for all of an object's sockets: an application's own stays.
  if (state.getWebSocketAutoResponse() !== null) return;
  const { WebSocketRequestResponsePair } = globalThis as unknown as Globals;
  state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
}

/**
 * What a socket of the hop keeps.
 *
 * @param socket Any socket of the object.
 * @returns What it keeps; `null` when it is not one of the hop's.
 */
export function savedOf(socket: HopSocket): HopSaved | null {
  const kept = socket.deserializeAttachment() as Partial<HopSaved> | null | undefined;
  // Nobody else writes that mark.
  return kept?.tidemark === 1 ? kept as HopSaved : null;
}

/**
 * Notes an acknowledgement without waking more than must be: whoever had everything is owed nothing.
 *
 * @param socket The object's end.
 * @param message What its Worker says.
 * @returns Whether that was all there is to do.
 */
export function ackedAsleep(socket: HopSocket, message: unknown): boolean {
  const saved = savedOf(socket);
  const taken = readAck(message);
  if (taken === null || saved?.live !== true) return false;
  const window = new AckWindow(saved);
  window.ack(taken);
  socket.serializeAttachment({ ...saved, acked: window.acked });
  return true;
}

/** Keeps what is needed to go on; where there are too many histories, that it cannot. */
function keep(socket: HopSocket, saved: HopSaved): void {
  try {
    socket.serializeAttachment(saved);
  } catch {
    socket.serializeAttachment({ ...saved, histories: [], opening: true });
  }
}

/**
 * A socket as a connection's port.
 *
 * @param socket The object's end. It throws when the other end has gone; its close says so, too.
 * @param closed Called when the connection has closed it.
 */
export function portOf(socket: HopSocket, closed: HopPort["close"]): HopPort {
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch {
      // It is told as a close.
    }
  };
  return {
    send: (message) => attempt(() => socket.send(message)),
    save: (saved) => attempt(() => keep(socket, saved)),
    close(kept, cause) {
      attempt(() => socket.close(kept ? CLOSE.broken : CLOSE.done, kept ? "broken" : "ended"));
      closed(kept, cause);
    },
  };
}
