/**
 * The surface of `http_surface_main.ts`: what stands in an event.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { ADA, END, heard, publish } from "./http_surface_publish.ts";
import { type Surface, told } from "./http_surface_server.ts";

const DATA: readonly string[] = [
  ...[
    "",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\r\n\r\n",
    "a\nb",
    "a\rb",
    "a\r\nb",
    "\n\r",
    "a\n\n\nb",
    " a",
    "  ",
  ],
  ...[
    "\n\nid: 9\nevent: sse:reset\ndata: {}\n\n",
    "\r\rid: 9\rdata: x\r\r",
    "data: x",
    ": x",
    "retry: 1",
  ],
  ...["id: x", "event: y", "\0", "id: a\0b", "\ufeff", "\u2028", "\u2029\u0085\v\f", "\u{1f600}"],
  ...["</script>", "\x1b[2J", "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"],
];
const NAMES: readonly string[] = [
  ...[
    "",
    "message",
    "a: b",
    " a",
    "  a  ",
    "\u2028",
    "\ufeff",
    "__proto__",
    "data",
    "id",
    "\x0b",
    "\u{1f600}",
  ],
];
const NO_NAMES: readonly string[] = ["a\nb", "a\rb", "a\r\nb", "\n\ndata: x\n\n", "a\0b", "\ud800"];

/** What is published is heard as exactly one event with exactly this data, whatever stands in it. */
export async function framesAreNotSplit(surface: Surface): Promise<void> {
  const listen = await heard(surface, `GET /sse/events?topic=frames HTTP/1.1\n${ADA}`);
  const texts = fc.sample(fc.string({ unit: fc.constantFrom(..."\r\n\0: adi\u2028") }), 60);
  const events = [
    ...[...DATA, ...texts].map((data) => ({ name: "", data })),
    ...NAMES.map((name) => ({ name, data: "named" })),
  ];
  for (const [i, event] of events.entries()) {
    const answer = await publish(surface, { topic: "frames", ...event }, i % 2 === 0);
    assertEquals(answer.status, 200, JSON.stringify(event));
  }
  for (const name of NO_NAMES) {
    for (const raw of name.isWellFormed() ? [true, false] : [false]) {
      const answer = await publish(surface, { topic: "frames", name, data: "x" }, raw);
      assertEquals(told(answer), "400 publish_body", JSON.stringify(name));
    }
  }
  for (const name of ["sse:reset", "sse:keepalive", "sse:"]) {
    const answer = await publish(surface, { topic: "frames", name, data: "x" });
    assertEquals(told(answer), "400 publish_body", name);
  }
  assertEquals(
    told(await publish(surface, { topic: "frames", data: "\ud800" })),
    "400 publish_body",
  );
  await publish(surface, { topic: "frames", data: END });
  // Line ends of any kind are one to the format: WHATWG HTML, section 9.2.6.
  const expected = events.map(({ name, data }) => [name, data.replace(/\r\n?/g, "\n")]);
  const got = (await listen()).map(({ event = "", data }) => [event, data]);
  assertEquals(got, [...expected, ["", END]]);
}
