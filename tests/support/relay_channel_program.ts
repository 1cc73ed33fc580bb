/**
 * A program that has a channel's relay open when it comes to its end; as a worker, it echoes.
 *
 * @module
 */
import { createBroadcastChannelRelay } from "../../src/relay/broadcast_channel.ts";

const relay = createBroadcastChannelRelay("relay-channel-program");
await relay.listen({
  message(message) {
    // An echo begins with 1; it is not answered.
    if (message[0] === 0) relay.send(Uint8Array.of(1, ...message.subarray(1)));
  },
  resumed() {},
});
if ("postMessage" in globalThis && "Deno" in globalThis) {
  globalThis.postMessage("listens");
} else {
  relay.send(Uint8Array.of(0));
}
