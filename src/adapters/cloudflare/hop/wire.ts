/**
 * What an object and the Worker in front of it say to each other over a hop's WebSocket.
 *
 * Frames travel as they are, behind a head of nine bytes, so that the Worker reads none of them: it
 * knows from the head up to which offset the client has everything, and whether it could go on from
 * there over another socket. All else is text.
 *
 * @module
 */

/** The tag of the hop's sockets among those of an object. */
export const HOP_TAG = "tidemark";

/** What the Worker asks, to learn whether the socket still leads somewhere; it wakes nobody. */
export const PING = "tidemark:ping";

/** What the platform answers in the object's name. */
export const PONG = "tidemark:pong";

/** The most bytes that an object sends ahead of what a client was seen to take, but for one frame. */
export const WINDOW_BYTES = 262_144;

/** How many bytes a Worker hands on before it says so: each time wakes the object. */
export const ACK_BYTES = WINDOW_BYTES / 4;

/** The bytes before a frame: a mark with the flag in its last bit, and the offset. */
const HEAD_BYTES = 9;

/** No text begins so: an application that sends to all of its object's sockets is not taken for us. */
const MARK = 0xfe;

/** What stands before everything that is no frame. */
const CONTROL_MARK = "tidemark:";

/**
 * Close codes. `done`: the client has left, or the object has said its last. `broken`: the socket leads
 * nowhere, and the Worker may come back. `stalled`: the client took nothing for the write timeout.
 */
export const CLOSE = { done: 1000, broken: 4001, stalled: 4002 } as const;

/** A piece of a client's stream. */
export interface Part {
  /** Up to this offset the client has, with it, everything that is its. */
  readonly offset: number;
  /** Whether a stream that broke off right behind it could go on at that offset. */
  readonly resumable: boolean;
  /** Whole frames; may be empty. */
  readonly bytes: Uint8Array;
}

/** How a stream begins, or goes on over another socket. */
export interface Begin {
  readonly type: "begin";
  /** The id of the connection, which nobody else can know. */
  readonly connection: string;
  /** The epoch of its offsets. */
  readonly epoch: string;
  /** The interval between two keepalives, in milliseconds. */
  readonly keepaliveMs: number;
  /** The name of the keepalive event. */
  readonly keepaliveEvent: string;
  /** For how long a client may take nothing, in milliseconds. */
  readonly writeTimeoutMs: number;
  /** When its authority ends, in milliseconds since the Unix epoch; `null` for never. */
  readonly expiresAt: number | null;
}

/** What an object says beside the frames. */
export type Control =
  | Begin
  /** So many pasts of topics were promised to it so far, the next one among them. */
  | { readonly type: "pasts"; readonly count: number }
  /** Its authority ends at another time. */
  | { readonly type: "expires"; readonly at: number | null }
  /** Nothing comes after what was sent: the client's stream ends. */
  | { readonly type: "end" };

/** How a Worker asks for a stream that it had already. */
export interface Resume {
  /** The connection's id. */
  readonly connection: string;
  /** The cursor up to which it has everything. */
  readonly after: string;
  /** How many pasts it has heard of: one that it has not was promised, and is lost. */
  readonly pasts: number;
  /** How many bytes of it the client has not taken yet. */
  readonly waiting: number;
}

/**
 * Writes a part as a message.
 *
 * @param part The part.
 * @returns The message.
 */
export function encodePart({ offset, resumable, bytes }: Part): Uint8Array {
  const message = new Uint8Array(HEAD_BYTES + bytes.length);
  message[0] = resumable ? MARK + 1 : MARK;
  new DataView(message.buffer).setFloat64(1, offset);
  message.set(bytes, HEAD_BYTES);
  return message;
}

/**
 * Reads a message that {@linkcode encodePart} wrote.
 *
 * @param message The message.
 * @returns The part, its bytes the message's own; `null` when it is none.
 */
export function decodePart(message: ArrayBuffer): Part | null {
  const mark = new Uint8Array(message)[0];
  if (message.byteLength < HEAD_BYTES || (mark !== MARK && mark !== MARK + 1)) return null;
  return {
    offset: new DataView(message).getFloat64(1),
    resumable: mark === MARK + 1,
    bytes: new Uint8Array(message, HEAD_BYTES),
  };
}

/**
 * Writes what is no frame.
 *
 * @param control What to say.
 */
export function encodeControl(control: Control): string {
  return CONTROL_MARK + JSON.stringify(control);
}

/**
 * Reads what is no frame.
 *
 * @param message A message to the Worker.
 * @returns What it says; `null` when it is not the hop's.
 */
export function readControl(message: unknown): Control | null {
  if (typeof message !== "string" || !message.startsWith(`${CONTROL_MARK}{`)) return null;
  // Nobody else begins so.
  return JSON.parse(message.slice(CONTROL_MARK.length)) as Control;
}

/**
 * Writes an acknowledgement.
 *
 * @param taken How many bytes of frames the client has taken over this socket.
 */
export function encodeAck(taken: number): string {
  return `ack ${taken}`;
}

/**
 * Reads an acknowledgement.
 *
 * @param message A message to the object.
 * @returns How many bytes; `null` when it is none.
 */
export function readAck(message: unknown): number | null {
  const digits = typeof message === "string" ? /^ack (\d{1,16})$/.exec(message)?.[1] : undefined;
  return digits === undefined ? null : Number(digits);
}
