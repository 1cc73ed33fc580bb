/**
 * The seed's `ExampleHub_Serve`: a client connects, receives a live event, leaves, and resumes from
 * its cursor; then the hub shuts down and says so.
 *
 * ```sh
 * deno run -A examples/seed/serve_and_resume.ts
 * ```
 *
 * @module
 */
import { createHub, formatCursor, parseCursor, parseHello } from "@tidemark/sse";
import { readFrames, serve } from "@tidemark/sse/testing";

const hub = createHub({ replay: { maxEvents: 64, ttlMs: 10 * 60_000 } });

const server = await serve(hub, {
  handler(request, host) {
    if (new URL(request.url).pathname !== "/api/events") return new Response(null, { status: 404 });
    return hub.serve(request, {
      onConnect: (writer, hello) =>
        writer.event("connected", JSON.stringify({ resumed: hello.resumed })),
      clientTag: request.headers.get("SSE-Client"),
      host,
    });
  },
});

// A first connection presents no cursor: the hello is fresh.
const first = await open("");
const [retry, fresh, greeting] = await readFrames(first.body, 3);
console.log(retry?.event, retry?.data);
console.log(fresh?.event, describe(fresh?.data));
console.log(greeting?.event, greeting?.data);

hub.publish({ name: "notify", data: '{"n":1}' });
const [live] = await readFrames(first.body, 1);
const cursor = parseCursor(live?.id ?? "");
if (cursor === null) throw new Error("An event has no id");
console.log(live?.event, cursor.offset, live?.data);
await first.body?.cancel();

// An event that is published while the client is away is replayed when it resumes.
hub.publish({ name: "notify", data: '{"n":2}' });
const second = await open(formatCursor(cursor));
const [, resumed, missed, again] = await readFrames(second.body, 4);
console.log(resumed?.event, describe(resumed?.data));
console.log(missed?.event, missed?.id === formatCursor({ ...cursor, offset: 2 }), missed?.data);
console.log(again?.event, again?.data);

// A shutdown ends every stream with a frame that says why. It resolves to nothing, or throws.
console.log(await hub.shutdown({ signal: AbortSignal.timeout(5000) }));
const [reset] = await readFrames(second.body, 1);
console.log(reset?.event, reset?.data);
await second.body?.cancel();
await server.shutdown();

function open(cursor: string): Promise<Response> {
  const headers = new Headers({ Accept: "text/event-stream", "SSE-Client": "tab-1" });
  if (cursor !== "") headers.set("Last-Event-ID", cursor);
  return fetch(`${server.url}/api/events`, { headers });
}

function describe(data = ""): string {
  const hello = parseHello(data);
  return `${hello.verdict} resumed=${hello.resumed} head=${hello.head}`;
}
