/**
 * How a Worker comes back to an object.
 *
 * @module
 */
import type { Clock } from "../../../hub/clock.ts";
import { CLOSE, type Resume } from "./wire.ts";

/** A WebSocket as a Worker sees it. */
export interface LineSocket {
  /** Lets messages come. */
  accept(): void;
  /** Sends one. */
  send(message: string): void;
  /** Closes it. */
  close(code?: number, reason?: string): void;
  /** Hears of messages. */
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  /** Hears of its end. */
  addEventListener(type: "close" | "error", listener: () => void): void;
}

/** What came of asking: a socket; `gone` when it is of no use to ask again; `null` when it may be. */
export type Answer = LineSocket | "gone" | null;

/** Asks an object for a stream that a Worker had already. */
export type Dial = (resume: Resume) => Promise<Answer>;

/** How long one attempt may take, in milliseconds. */
const ANSWER_MS = 10_000;

/**
 * Asks, but not for long: an object that does not answer must not keep a client waiting who believes to
 * be connected.
 *
 * @param dial Asks.
 * @param clock The clock.
 * @param resume For what.
 * @returns The answer.
 */
export function askInTime(dial: Dial, clock: Clock, resume: Resume): Promise<Answer> {
  return new Promise((resolve) => {
    let late = false;
    const timer = clock.after(ANSWER_MS, () => {
      late = true;
      resolve(null);
    });
    dial(resume).then((answer) => {
      timer.cancel();
      if (!late) resolve(answer);
      // The client's connection goes on over another one.
      else if (answer !== null && answer !== "gone") refuse(answer, CLOSE.broken);
    });
  });
}

/**
 * Closes a socket that is not wanted any more.
 *
 * @param socket The socket, not accepted yet.
 * @param code Why.
 */
export function refuse(socket: LineSocket, code: number): void {
  socket.accept();
  socket.close(code, "late");
}
