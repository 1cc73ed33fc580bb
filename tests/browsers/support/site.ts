/**
 * The site that a browser visits: pages and scripts from here, everything else from a fixture behind
 * it, so that a page and its stream have one origin.
 *
 * @module
 */
import { bundle } from "./bundle.ts";

/** A running site. */
export interface Site {
  /** The port it listens on, on 127.0.0.1. */
  readonly port: number;
  /**
   * Sends what it does not serve itself elsewhere from now on.
   *
   * @param url The address of a fixture, without a slash at the end.
   */
  setTarget(url: string): void;
  /** Stops it, and cuts what is open. */
  close(): Promise<void>;
}

/** Headers that speak of one connection, or of a length that this server finds by itself. */
const OWN_HEADERS = ["connection", "content-length", "host", "keep-alive", "transfer-encoding"];

/**
 * Starts a site.
 *
 * - `/page/NAME`: a page with the script `tests/browsers/page/NAME.ts`. It may be kept when one leaves
 *   it: nothing forbids to store it.
 * - `/script/NAME.js`: that script, bundled with all it imports.
 * - `/blank`: a page to go to.
 * - everything else: the fixture.
 *
 * @param target The fixture's address, without a slash at the end.
 * @returns The site, listening.
 */
export function startSite(target: string): Site {
  let to = target;
  const stopping = new AbortController();
  const server = Deno.serve(
    {
      hostname: "127.0.0.1",
      port: 0,
      signal: stopping.signal,
      onListen() {},
      onError: (error) => new Response(String(error), { status: 502 }),
    },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const [, kind = "", name = ""] = /^\/(page|script|blank)(?:\/([a-z_]+)(?:\.js)?)?$/
        .exec(pathname) ?? [];
      switch (kind) {
        case "page":
          return html(name, `<script type="module" src="/script/${name}.js"></script>`);
        case "blank":
          return html("blank", "");
        case "script":
          return new Response(await bundle(name), { headers: { "content-type": JAVASCRIPT } });
        default:
          return await forward(request, `${to}${pathname}${search}`);
      }
    },
  );
  return {
    port: server.addr.port,
    setTarget(url) {
      to = url;
    },
    async close() {
      stopping.abort();
      await server.finished;
    },
  };
}

const JAVASCRIPT = "text/javascript; charset=utf-8";

/** What a page complains of is kept from its first line on: one browser tells it in no other way. */
const COMPLAINTS = `<script>
  globalThis.complaints = [];
  for (const kind of ["error", "unhandledrejection"]) {
    addEventListener(kind, (event) => {
      complaints.push({ kind: "exception", text: String(event.reason ?? event.error ?? event.message) });
    });
  }
  const { error } = console;
  console.error = (...args) => {
    complaints.push({ kind: "console", text: args.map(String).join(" ") });
    error.apply(console, args);
  };
</script>`;

function html(title: string, script: string): Response {
  // The icon is not asked for: it would cost one of a browser's few connections.
  const head =
    `<meta charset="utf-8"><title>${title}</title><link rel="icon" href="data:,">${COMPLAINTS}`;
  return new Response(`<!doctype html><html lang="en"><head>${head}${script}</head></html>`, {
    headers: { "content-type": "text/html; charset=utf-8" },
  });
}

/** Passes a request on and its answer back, piece by piece. A cut on one side is one on the other. */
async function forward(request: Request, url: string): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const name of OWN_HEADERS) headers.delete(name);
  const answer = await fetch(url, {
    method: request.method,
    headers,
    body: request.body,
    redirect: "manual",
  });
  const theirs = new Headers(answer.headers);
  for (const name of OWN_HEADERS) theirs.delete(name);
  return new Response(answer.body, { status: answer.status, headers: theirs });
}
