/**
 * Bun serving a default export whose fetch is `hub.handler`, which says on stderr who comes and goes.
 * All else is at its default.
 *
 * @module
 */
import { createHub } from "../../../src/hub/hub.ts";

const hub = createHub({ onPresence: ({ kind, cause }) => console.error(`${kind} ${cause ?? ""}`) });

const server: {
  readonly hostname: string;
  readonly port: number;
  readonly fetch: typeof hub.handler;
} = { hostname: "127.0.0.1", port: 0, fetch: hub.handler };

export default server;
