/**
 * A hub at default options, served as the documentation says, on Deno.
 *
 * @module
 */
import { createHub } from "../../../src/hub/hub.ts";

const hub = createHub();

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ hostname, port }) => console.log(`LISTEN http://${hostname}:${port}`),
}, hub.handler);

const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
let rest = "";
for await (const text of lines) {
  const whole = (rest + text).split("\n");
  rest = whole.pop() ?? "";
  for (const data of whole) hub.publish({ data });
}
// Who started this has gone.
Deno.exit();
