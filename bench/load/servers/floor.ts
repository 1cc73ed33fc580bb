/**
 * The least that a Web stream can cost on a runtime: shared bytes, a queue per client, one chunk per
 * pull, and nothing of what a hub does besides. Not a contender: it tells how far one could go.
 */
import { joinBytes } from "../../../src/wire/frame.ts";
import { loadFrame } from "../../fixtures.ts";
import { control } from "../control.ts";

type Handler = (request: Request) => Response;
interface Host {
  readonly Deno?: {
    serve(
      options: { port: number; hostname: string; onListen(): void },
      handler: Handler,
    ): { readonly addr: { readonly port: number } };
  };
  readonly Bun?: {
    serve(
      options: { port: number; hostname: string; idleTimeout: number; fetch: Handler },
    ): { readonly port: number };
  };
}

class Client {
  readonly queue: Uint8Array[] = [];
  controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  scheduled = false;
}

const encoder = new TextEncoder();
const clients = new Set<Client>();
let turn: Client[] = [];

function flush(client: Client): void {
  client.scheduled = false;
  if (client.controller === null || client.queue.length === 0) return;
  client.controller.enqueue(joinBytes(client.queue));
  client.queue.length = 0;
  client.controller = null;
}

function flushAll(): void {
  const due = turn;
  turn = [];
  for (const client of due) flush(client);
}

function push(client: Client, bytes: Uint8Array): void {
  client.queue.push(bytes);
  if (client.scheduled) return;
  client.scheduled = true;
  if (turn.push(client) === 1) queueMicrotask(flushAll);
}

function handler(): Response {
  const client = new Client();
  const body = new ReadableStream<Uint8Array>({
    start() {
      clients.add(client);
      push(client, encoder.encode("retry: 1500\n\n"));
    },
    pull(controller) {
      client.controller = controller;
      flush(client);
    },
    cancel() {
      clients.delete(client);
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const publish: Parameters<typeof control>[0]["publish"] = (sequence, event) => {
  const frame = encoder.encode(loadFrame(sequence, event));
  for (const client of clients) push(client, frame);
};
const connections = (): number => clients.size;
const host = globalThis as Host;
if (host.Deno !== undefined) {
  const server = host.Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, handler);
  control({ port: server.addr.port, publish, connections });
} else if (host.Bun !== undefined) {
  const server = host.Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: handler });
  control({ port: server.port, publish, connections });
} else {
  const { serve } = await import("@hono/node-server");
  serve(
    { fetch: handler, port: 0, hostname: "127.0.0.1" },
    ({ port }) => control({ port, publish, connections }),
  );
}
