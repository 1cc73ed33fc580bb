/** Our hub on Node as a user has it who mounts it in a Hono app: a web body, pulled by the bridge. */
import { serve } from "@hono/node-server";
import { controlHub, hub } from "./ours.ts";

serve(
  { fetch: (request) => hub.handler(request), port: 0, hostname: "127.0.0.1" },
  ({ port }) => controlHub(port),
);
