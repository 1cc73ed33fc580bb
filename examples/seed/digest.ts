/**
 * The seed's `ExampleHub_DigestHandler`: a client that was away asks which of the versions it holds
 * are out of date.
 *
 * ```sh
 * deno run -A examples/seed/digest.ts
 * ```
 *
 * @module
 */
import { createHub, type Resolver } from "@tidemark/sse";
import { serve } from "@tidemark/sse/testing";

const hub = createHub();

/** What the application holds: chat c1 at version 7, and nothing else. */
const current = new Map([["chat c1", "7"]]);

const resolve: Resolver = (held) =>
  held.map(({ kind, ref }) => {
    const version = current.get(`${kind} ${ref}`);
    if (version === undefined) return { kind, ref, version: "", status: "gone" };
    return { kind, ref, version, status: "" };
  });

const digest = hub.digestHandler(resolve);

/** The library sets no time limit: an application's own stands around the handler. */
async function within(ms: number, answer: Promise<Response>): Promise<Response> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<Response>((resolve) => {
    timer = setTimeout(() => resolve(new Response("The digest timed out", { status: 503 })), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

const server = await serve(hub, { handler: (request) => within(10_000, digest(request)) });

const response = await fetch(server.url, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({
    epoch: hub.position().epoch,
    subjects: [
      { kind: "chat", ref: "c1", version: "5" },
      { kind: "chat", ref: "c2", version: "1" },
    ],
  }),
});
const answer = await response.json();
console.log(response.status, answer.must_refetch);
console.log(JSON.stringify(answer.changed));
console.log(JSON.stringify(answer.removed));
await server.shutdown();
