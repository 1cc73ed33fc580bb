/**
 * The surface of `http_surface_main.ts`: its routes, its methods, and who of another origin may use it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { KEY } from "../unit/service/world.ts";
import { exchange, header, LISTED, type Surface, told } from "./http_surface_server.ts";

const STREAM = ["GET", "HEAD"];
const LOOK = ["GET", "HEAD"];
const POST = ["POST"];
/** Every route, and its methods. */
const ROUTES: Readonly<Record<string, readonly string[]>> = {
  ...{ "/sse/events?topic=a": STREAM, "/sse/events?ticket=x": STREAM, "/bare/events": STREAM },
  ...{ "/sse/presence": LOOK, "/sse/metrics": LOOK, "/sse/health": LOOK, "/sse/ready": LOOK },
  ...{ "/sse/ticket": POST, "/sse/subscribe": POST, "/sse/unsubscribe": POST, "/sse/alive": POST },
  ...{ "/sse/digest": POST, "/sse/publish": POST, "/bare/alive": POST, "/bare/digest": POST },
};
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "PROPFIND"];
/** What a runtime may refuse by itself: fetch forbids them, or its parser does not know them. */
const STRANGE = ["TRACE", "CONNECT", "TRACK", "get", "Post", "FOO", "G(T", "X".repeat(5000)];
const KNOWN = `X-User: ada\nAuthorization: Bearer ${KEY}\nOrigin: ${LISTED}`;

/** Each route takes its methods and names them to every other one. */
export async function methodsAreRefused(surface: Surface): Promise<void> {
  for (const [path, allowed] of Object.entries(ROUTES)) {
    await Promise.all([...METHODS, ...STRANGE].map(async (method) => {
      const answer = await surface.send(`${method} ${path} HTTP/1.1\n${KNOWN}`);
      const what = `${method.slice(0, 10)} ${path}: ${told(answer)}`;
      if (allowed.includes(method)) return assert(answer.status !== 405 && answer.status > 0, what);
      const isStrange = STRANGE.includes(method);
      if (isStrange && ["by the runtime", "400 bad_request"].includes(told(answer))) return;
      assertEquals(answer.status, 405, what);
      assertEquals(header(answer, "allow"), allowed.join(", "), what);
      if (method !== "HEAD") assert(/^405 [a-z]+_method$/.test(told(answer)), what);
    }));
  }
}

/** Targets that are not routes, however they are written. */
const NOWHERE = [
  ...["/", "/sse", "/sse/", "/sse//events", "/sse/events/", "/SSE/health", "/sse/%2e%2e/health"],
  ...["//sse/health", "/sse/health%00", "/sse/health%0d%0aX:y", "/sse/health;x", "/sse/%ff"],
  ...["/sse/health%", "/sse/events%2f", "/bare", "/bare/events/x", "/__proto__", "/constructor"],
  ...["/sse/__proto__", "/sse/hasOwnProperty", "/sse/%c0%ae%c0%ae/health", "*", "sse/health"],
];

/** A health check of HAProxy speaks HTTP/1.0, and names no host. */
export async function oldProbesAreAnswered({ port }: Surface): Promise<void> {
  for (const [path, expected] of [["/sse/health", "200"], ["/nowhere", "404 not_found"]] as const) {
    const answer = await exchange(port, [encoder.encode(`GET ${path} HTTP/1.0\r\n\r\n`)]);
    assertEquals(told(answer), expected, path);
  }
}

const encoder = new TextEncoder();

/** What is no route is 404, and a `Host` makes no route of it. */
export async function nothingElseIsThere(surface: Surface): Promise<void> {
  for (const target of NOWHERE) {
    const answer = await surface.send(`GET ${target} HTTP/1.1`);
    assert(
      ["404 not_found", "by the runtime"].includes(told(answer)),
      `${target}: ${told(answer)}`,
    );
  }
  const hosts = [
    "pod/sse/health?",
    "pod/sse/health#",
    "a b",
    "a<script>",
    "u:p@pod",
    "pod\\sse",
    "[",
  ];
  for (const host of hosts) {
    for (const target of ["/nowhere", "/sse/events?ticket=x&last_event_id=y", "/bare/digest"]) {
      const answer = await surface.send(`GET ${target} HTTP/1.1`, { host });
      const allowed = ["400 bad_request", "by the runtime"];
      assert(allowed.includes(told(answer)), `${host} ${target}: ${told(answer)}`);
    }
  }
}

const STRANGERS = [
  ...["null", "https://evil.example", `${LISTED}.evil.example`, `${LISTED}evil`, `${LISTED}/`],
  ...["http://app.example.com", "https://APP.example.com", `${LISTED}:444`, "*", ""],
];

/** With a list of origins, only those get CORS headers; credentials come with an origin, never with `*`. */
export async function originsAreListed(surface: Surface): Promise<void> {
  const preflight =
    "\nAccess-Control-Request-Method: POST\nAccess-Control-Request-Headers: content-type";
  for (const path of ["/cors/ticket", "/cors/events?topic=a", "/cors/health", "/cors/nowhere"]) {
    for (const [method, more] of [["OPTIONS", preflight], ["GET", ""], ["POST", ""]] as const) {
      for (const origin of [LISTED, ...STRANGERS]) {
        const answer = await surface.send(`${method} ${path} HTTP/1.1\nOrigin: ${origin}${more}`);
        const what = `${method} ${path} of ${origin}`;
        const allowed = header(answer, "access-control-allow-origin");
        assertEquals(allowed, origin === LISTED ? LISTED : "", what);
        assert(header(answer, "vary").toLowerCase().includes("origin"), `${what}: no Vary`);
        const credentials = header(answer, "access-control-allow-credentials");
        if (origin === LISTED) assertEquals(credentials, "true", what);
      }
    }
  }
}
