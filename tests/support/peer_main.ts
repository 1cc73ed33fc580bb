/**
 * The program of `peer.ts`: reads the stream of its first argument, and says once that it has begun.
 *
 * @module
 */
const [url = "", tag = ""] = Deno.args;
const { hostname, port, pathname, search } = new URL(url);
const conn = await Deno.connect({ hostname, port: Number(port) });
const request = [
  `GET ${pathname}${search} HTTP/1.1`,
  `Host: ${hostname}:${port}`,
  `SSE-Client: ${tag}`,
];
await conn.write(new TextEncoder().encode(`${request.join("\r\n")}\r\n\r\n`));
const decoder = new TextDecoder();
const buffer = new Uint8Array(65_536);
let seen: string | null = "";
for (;;) {
  const count = await conn.read(buffer);
  if (count === null) break;
  if (seen === null) continue;
  seen += decoder.decode(buffer.subarray(0, count), { stream: true });
  if (!seen.includes("event: sse:hello")) continue;
  seen = null;
  await Deno.stdout.write(new TextEncoder().encode("BEGUN\n"));
}
