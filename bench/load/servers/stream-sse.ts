/** hono's `streamSSE` behind `@hono/node-server`: one stream and one `writeSSE` per client. */
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import { EPOCH } from "../../fixtures.ts";
import { control } from "../control.ts";

const clients = new Set<SSEStreamingApi>();
const app = new Hono();
app.get("/events", (context) =>
  streamSSE(context, async (stream) => {
    await stream.write("retry: 1500\n\n");
    clients.add(stream);
    await new Promise<void>((resolve) => stream.onAbort(resolve));
    clients.delete(stream);
  }));

serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
  control({
    port,
    publish(sequence, event) {
      const message = { id: `${EPOCH}:${sequence}`, event: event.name, data: event.data };
      // `writeSSE` never rejects: it swallows what goes wrong with the stream.
      for (const stream of clients) void stream.writeSSE(message);
    },
    connections: () => clients.size,
  }));
