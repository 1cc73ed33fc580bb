/**
 * The surface of `http_surface_main.ts`: what stands in an address or a header.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { KEY } from "../unit/service/world.ts";
import { ADA, BEARER } from "./http_surface_publish.ts";
import { type Answer, header, type Sending, type Surface, told } from "./http_surface_server.ts";

const ODD = [
  ...[
    "%00",
    "%0d%0a",
    "%0D%0Adata:%20x",
    "%c0%af",
    "%ed%a0%80",
    "%ff",
    "%",
    "%zz",
    "%u0041",
    "\xff",
  ],
  ...["+", "a#b", "%e2%80%ae", "a\\b", "a;b", "%2500", "a|b", '"', "<x>", "a'b", "{}", "^", "`"],
];

/** Oddities of a request's address and headers open a stream that carries nothing of them, or none. */
export async function oddRequestsAreHarmless(surface: Surface): Promise<void> {
  const get = (target: string, more = "", sending: Sending = {}): Promise<Answer> =>
    surface.send(`GET ${target} HTTP/1.1\n${ADA}${more}`, sending);
  const isStream = (answer: Answer): boolean =>
    header(answer, "content-type") === "text/event-stream";
  const refused = ["by the runtime", "400 sse_topics", "400 bad_request"];
  for (const odd of ODD) {
    const answer = await get(`/sse/events?topic=${odd}`);
    assert(isStream(answer) || refused.includes(told(answer)), `${odd}: ${told(answer)}`);
    const cursor = await get(`/sse/events?topic=a&last_event_id=${odd}&lag=${odd}`);
    assert(
      told(cursor) === "by the runtime" || isFresh(cursor),
      `${odd}: ${told(cursor)} ${cursor.body}`,
    );
    const ticket = await get(`/sse/events?ticket=${odd}&topic=a`);
    assert(
      ["by the runtime", "401 ticket_invalid"].includes(told(ticket)),
      `${odd}: ${told(ticket)}`,
    );
  }
  const headers = [
    ...[
      "Last-Event-ID: a\nLast-Event-ID: b",
      "Last-Event-ID: x\0y",
      "Last-Event-ID: x\ry",
      "Last-Event-ID:",
    ],
    ...[
      "Last-Event-ID: \xff\xfe",
      `Last-Event-ID: ${"x".repeat(4000)}`,
      `Last-Event-ID: ${"9".repeat(300)}:1`,
    ],
    ...[`Last-Event-ID: ${"x".repeat(16_384)}`, `Last-Event-ID: ${"x".repeat(65_536)}`],
    ...[
      "SSE-Client: a\nSSE-Client: b",
      "SSE-Client: ../x",
      "SSE-Client: \x7f",
      "SSE-Lag: 1\nSSE-Lag: 1",
    ],
    ...[
      "X-User: bob",
      ": x",
      "A B: c",
      "X:\n y",
      "Accept: x\nAccept-Encoding: gzip",
      "Upgrade: websocket",
    ],
    ...[
      "SSE-Wire: 99",
      "Range: bytes=0-1",
      "If-None-Match: *",
      "Expect: 100-continue",
      "Expect: x",
    ],
    ...["Connection: close, last-event-id", "Transfer-Encoding: gzip", "Content-Length: 5"],
    ...["X-Forwarded-Host: evil", "X-HTTP-Method-Override: DELETE", "Forwarded: host=x"],
    Array.from({ length: 300 }, (_, i) => `X-${i}: y`).join("\n"),
  ];
  for (const one of headers) {
    const answer = await get("/sse/events?topic=a", `\n${one}`);
    const what = `${one.slice(0, 60)}: ${told(answer)} ${answer.body}`;
    assert(["by the runtime", "400 bad_request"].includes(told(answer)) || isFresh(answer), what);
  }
  for (const length of [16_384, 65_536, 1_048_576]) {
    const answer = await get(`/sse/events?topic=a&x=${"y".repeat(length)}`);
    assert(told(answer) === "by the runtime" || isStream(answer), `${length}: ${told(answer)}`);
    const long = await get(`/sse/events?topic=${"y".repeat(length)}`);
    assert(["by the runtime", "400 sse_topics"].includes(told(long)), `${length}: ${told(long)}`);
  }
  const many = Array.from({ length: 257 }, (_, i) => `topic=t${i}`).join("&");
  assertEquals(told(await get(`/sse/events?${many}`)), "400 sse_topics");
  // The right key beside a wrong one is no key, and neither is one in another place.
  const keys = [
    `Authorization: Bearer wrong\n${BEARER}`,
    `Authorization: Basic ${KEY}`,
    `Cookie: ${KEY}`,
  ];
  keys.push(
    `Authorization: Bearer ${KEY}x`,
    `Authorization: Bearer ${KEY.slice(0, -1)}`,
    "X-Key: x",
  );
  keys.push(
    `Authorization: Bearer ${KEY} ${KEY}`,
    `Authorization: ${KEY}`,
    "Authorization: Bearer",
  );
  for (const key of keys) {
    const answer = await surface.send(`GET /sse/presence?key=${KEY} HTTP/1.1\n${key}`);
    assertEquals(told(answer), "401 unauthenticated", key);
  }
}

/** What an application throws is told to nobody, and logged a bounded number of times. */
export async function failuresStayInside(surface: Surface): Promise<void> {
  const before = (await surface.state()).lines.length;
  for (const path of ["ticket", "subscribe", "unsubscribe", "alive", "digest"]) {
    for (let i = 0; i < 30; i++) {
      const answer = await surface.send(`POST /sse/${path} HTTP/1.1\nX-User: boom`);
      assertEquals(answer.body, '{"error":"Internal error","code":"internal"}');
    }
  }
  const lines = (await surface.state()).lines.slice(before);
  assert(lines.length > 0 && lines.every((line) => line.includes("[removed]")), lines[0]);
  assert(lines.length <= 5 * MOST_LINES, `${lines.length} lines`);
}

/** The lines that a handler logs in a minute. */
const MOST_LINES = 20;

/** Whether it is a stream that begins with a hello, and resumed nothing. */
function isFresh({ status, body }: Answer): boolean {
  return status === 200 && /^retry: \d+\n\nevent: sse:hello\n/.test(body) &&
    !body.includes('"resumed":true');
}
