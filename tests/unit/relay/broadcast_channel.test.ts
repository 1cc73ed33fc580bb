import { assertEquals, assertThrows } from "@std/assert";
import { RelayError } from "../../../src/errors/relay.ts";
import { createBroadcastChannelRelay } from "../../../src/relay/broadcast_channel.ts";
import { eventually } from "../../support/poll.ts";
import { RelayRecorder, say } from "../../support/relay_recorder.ts";
import { test } from "../../support/test.ts";

test("what somebody else posts on the channel is passed over, unless it is bytes", async () => {
  const name = crypto.randomUUID();
  const relay = createBroadcastChannelRelay(name);
  const recorder = new RelayRecorder();
  await relay.listen(recorder);
  const stranger = new BroadcastChannel(name);
  for (const post of ["text", 1, null, { a: 1 }, new ArrayBuffer(4), [1, 2]]) {
    stranger.postMessage(post);
  }
  stranger.postMessage(say("bytes"));
  await eventually(() => recorder.heard.length > 0, { what: "the bytes" });
  assertEquals([recorder.heard, recorder.told], [["bytes"], 0]);
  stranger.close();
  await relay.close();
});

test("of a small message in a large buffer, the small message is posted", async () => {
  const name = crypto.randomUUID();
  const relay = createBroadcastChannelRelay(name);
  const other = new BroadcastChannel(name);
  const posted = new Promise<unknown>((resolve) => other.onmessage = ({ data }) => resolve(data));
  relay.send(new Uint8Array(1024 * 1024).subarray(10, 20));
  const data = await posted;
  assertEquals(data instanceof Uint8Array && data.buffer.byteLength, 10);
  other.close();
  await relay.close();
});

test("a message that the runtime cannot read is told as an interruption", async () => {
  const { BroadcastChannel: real } = globalThis;
  const made: BroadcastChannel[] = [];
  class Watched extends real {
    constructor(name: string) {
      super(name);
      made.push(this);
    }
  }
  Object.assign(globalThis, { BroadcastChannel: Watched });
  try {
    const relay = createBroadcastChannelRelay(crypto.randomUUID());
    const recorder = new RelayRecorder();
    await relay.listen(recorder);
    made[0]?.dispatchEvent(new MessageEvent("messageerror"));
    assertEquals(recorder.told, 1);
    await relay.close();
  } finally {
    Object.assign(globalThis, { BroadcastChannel: real });
  }
});

test("a runtime without the channel says so", () => {
  const { BroadcastChannel: real } = globalThis;
  Object.assign(globalThis, { BroadcastChannel: undefined });
  try {
    const error = assertThrows(() => createBroadcastChannelRelay("a"), RelayError);
    assertEquals(error.fault, "unavailable");
  } finally {
    Object.assign(globalThis, { BroadcastChannel: real });
  }
});
