/**
 * Relays that are wrong on purpose, each in one way.
 *
 * @module
 */
import { RelayError } from "../../../src/errors/relay.ts";
import { type Change, MAX_BYTES } from "./flawed.ts";
import {
  closingOnce,
  electing,
  ending,
  haunting,
  hearing,
  instant,
  losing,
  mixing,
  once,
  refusing,
  sending,
  sharing,
} from "./flaw_changes.ts";

/** What is wrong, how, and the case that must say so, by the beginning of its name. */
export type Flawed = readonly [what: string, change: Change, caughtBy: string];

const text = new TextDecoder();
const bytes = new TextEncoder();

const ROW = "what one pod sends in a row";
const BYTES = "bytes arrive as they were";
const LARGE = "a message above maxBytes";
const CLOSED = "a closed relay neither sends";
const TOLD = "an interruption is told to each listener";

export const FLAWS: readonly Flawed[] = [
  ["loses one", losing(17), ROW],
  ["sends one twice", (relay) => ({
    send(message) {
      relay.send(message);
      if (message.length === 40) relay.send(message);
    },
  }), ROW],
  [
    "tells interruptions that are none",
    hearing((listener) => ({
      message(message) {
        listener.resumed();
        listener.message(message);
      },
    })),
    ROW,
  ],
  ["mixes up the order", mixing(), ROW],
  ["mixes up the order of one of several", mixing(), "what several pods send at once"],
  ["gives a message to one of two listeners", electing(), "every pod that listens gets"],
  ["gives all listeners one array", sharing(), "what one listener does to its bytes"],
  ["delivers within send", instant(), "a message arrives in a later turn"],
  ["makes text of it", sending((message) => bytes.encode(text.decode(message))), BYTES],
  [
    "stops at a zero",
    sending((message) => {
      const zero = message.indexOf(0);
      return zero > 0 ? message.subarray(0, zero) : message;
    }),
    BYTES,
  ],
  ["swallows what is empty", (relay) => ({
    send: (message) => message.length > 0 && relay.send(message),
  }), "a message without a byte"],
  ["cuts what is long", sending((message) => message.subarray(0, 65_536)), "a message of 1 MiB"],
  [
    "sends the whole buffer",
    sending(({ buffer }) => new Uint8Array(buffer)),
    "of a message that lies",
  ],
  ["knows no bound", (relay) => ({
    send: (message) => relay.send(message.subarray(0, MAX_BYTES)),
  }), LARGE],
  ["says something else of what is too large", (relay) => ({
    send(message) {
      if (message.length > MAX_BYTES) throw new RelayError("failed", "too large");
      relay.send(message);
    },
  }), LARGE],
  ["sends a piece of what is too large", (relay) => ({
    send(message) {
      if (message.length > MAX_BYTES) relay.send(message.subarray(0, 10));
      relay.send(message);
    },
  }), LARGE],
  ["confirms too early", (relay) => ({
    listen(listener, options) {
      setTimeout(() => void relay.listen(listener, options).catch(() => {}), 1);
      return Promise.resolve({ close: () => Promise.resolve() });
    },
  }), "what another pod sends in the turn"],
  ["does not look at the signal", (relay) => ({
    listen: (listener) => relay.listen(listener),
  }), "an attempt with a signal that has aborted"],
  ["rejects with a reason of its own", (relay) => ({
    listen: (listener, options) =>
      relay.listen(listener, options).catch(() => Promise.reject(new RangeError("mine"))),
  }), "an attempt with a signal that has aborted"],
  ["ends with the signal of the attempt", (relay) => ({
    async listen(listener, options) {
      const subscription = await relay.listen(listener, options);
      options?.signal?.addEventListener("abort", () => void subscription.close());
      return subscription;
    },
  }), "a signal that aborts after"],
  ["confirms while the broker is away", (relay) => ({
    listen: (listener, options) =>
      Promise.race([
        relay.listen(listener, options),
        new Promise<{ close(): Promise<void> }>((resolve) =>
          setTimeout(() => resolve({ close: () => Promise.resolve() }), 10)
        ),
      ]),
  }), "an attempt while the broker is away waits"],
  ["tells who begins of an interruption", (relay) => ({
    async listen(listener, options) {
      const subscription = await relay.listen(listener, options);
      listener.resumed();
      return subscription;
    },
  }), "an attempt while the broker is away waits"],
  ["does not give up while the broker is away", (relay) => ({
    listen: (listener) => relay.listen(listener),
  }), "an attempt is given up while"],
  ["listens on after the end", (relay) => ({
    async listen(listener, options) {
      await relay.listen(listener, options);
      return { close: () => Promise.resolve() };
    },
  }), "a subscription that was closed"],
  ["ends a second time with an error", ending(), "a subscription that was closed"],
  ["listens once only", once(), "a pod that listens again"],
  ["sends on when it is closed", (relay) => ({
    send(message) {
      try {
        relay.send(message);
      } catch { /* Nobody is told. */ }
    },
  }), CLOSED],
  ["closes once only", closingOnce(), CLOSED],
  ["takes back its last words", (relay) => ({
    send: (message) =>
      void setTimeout(() => {
        try {
          relay.send(message);
        } catch { /* It was closed meanwhile. */ }
      }, 1),
  }), "what was sent before a pod closed"],
  ["leaves an attempt hanging", (relay) => ({
    listen: (listener, options) =>
      relay.listen(listener, options).catch(() => new Promise<never>(() => {})),
  }), "an attempt that is under way"],
  ["tells no interruption", hearing(() => ({ resumed() {} })), TOLD],
  [
    "tells one twice",
    hearing((listener) => ({
      resumed() {
        listener.resumed();
        listener.resumed();
      },
    })),
    TOLD,
  ],
  [
    "tells it before it is over",
    hearing((listener) => {
      let deaf = false;
      return {
        resumed() {
          deaf = true;
          listener.resumed();
        },
        message: (message) => deaf ? deaf = false : listener.message(message),
      };
    }),
    TOLD,
  ],
  [
    "tells the first only",
    hearing((listener) => {
      let told = false;
      return {
        resumed() {
          if (!told) listener.resumed();
          told = true;
        },
      };
    }),
    "of several interruptions each",
  ],
  ["will not send while it is away", refusing(), "what is sent while the broker is away"],
  ["tells who has stopped listening", haunting(), "a subscription that is closed while"],
];
