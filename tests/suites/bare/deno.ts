/**
 * `Deno.serve(hub.handler)`, which says on stderr who comes and goes. All else is at its default.
 *
 * @module
 */
import { createHub } from "../../../src/hub/hub.ts";

const hub = createHub({ onPresence: ({ kind, cause }) => console.error(`${kind} ${cause ?? ""}`) });

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ hostname, port }) => console.log(`LISTEN http://${hostname}:${port}`),
}, hub.handler);
