import { assert, assertEquals } from "@std/assert";
import {
  ConfigError,
  ConnectionGoneError,
  CursorError,
  FrameTooLargeError,
  InvalidUtf8Error,
  ProtocolError,
  TidemarkError,
  TopicError,
} from "../../src/errors.ts";
import { test } from "../support/test.ts";

const each: readonly (readonly [TidemarkError, string, string, string])[] = [
  [new ConfigError("replay.ttlMs", "it is 3"), "ConfigError", "config", "replay.ttlMs: it is 3"],
  [new CursorError("it is long"), "CursorError", "cursor", "cursor: it is long"],
  [new TopicError("there are 300"), "TopicError", "topic", "topics: there are 300"],
  [
    new FrameTooLargeError(12, 10),
    "FrameTooLargeError",
    "frame_too_large",
    "12 bytes, the cap is 10",
  ],
  [new InvalidUtf8Error(7), "InvalidUtf8Error", "invalid_utf8", "at index 7"],
  [new ConnectionGoneError("dead"), "ConnectionGoneError", "connection_gone", "ended (dead)"],
  [new ProtocolError("it is broken"), "ProtocolError", "protocol", "stream: it is broken"],
];

test("every error is a TidemarkError with its own name, its code, and a message with the evidence", () => {
  for (const [error, name, code, evidence] of each) {
    assert(error instanceof TidemarkError && error instanceof Error, name);
    assertEquals([error.name, error.code], [name, code]);
    assert(error.message.startsWith("Cannot "), error.message);
    assert(error.message.endsWith(evidence), error.message);
    assert(error.stack !== undefined, name);
  }
});

test("no two classes of error share a code", () => {
  assertEquals(new Set(each.map(([error]) => error.code)).size, each.length);
});

test("errors carry what a program needs: the option, the size and the cap, the index, the cause", () => {
  assertEquals(new ConfigError("slow", "no").option, "slow");
  const tooLarge = new FrameTooLargeError(1_048_577, 1_048_576);
  assertEquals([tooLarge.size, tooLarge.cap], [1_048_577, 1_048_576]);
  assertEquals(new InvalidUtf8Error(9).index, 9);
  assertEquals(new ConnectionGoneError("evicted").cause, "evicted");
});
