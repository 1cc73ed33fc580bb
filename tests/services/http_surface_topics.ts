/**
 * The surface of `http_surface_main.ts`: topics from hell, wherever a topic may stand.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ADA, BEARER, END, heard, publish } from "./http_surface_publish.ts";
import { type Answer, type Surface, told } from "./http_surface_server.ts";

/** Topics that look like something else, and are texts like any other. */
export const TOPICS: readonly string[] = [
  ...[
    "*",
    ">",
    "a.>",
    "a.*",
    "..",
    "../../etc/passwd",
    "/",
    "\\",
    " ",
    " a ",
    "a b",
    "%00",
    "%0d%0a",
  ],
  ...["__proto__", "constructor", "toString", "null", "undefined", "0", "-1", "true", "[]", "{}"],
  ...["user:ada:*", "{a}", "[a-z]?", "$SYS.>", "_INBOX.a", "sse:reset", "'; DROP TABLE events; --"],
  ...[
    "\u200b",
    "\u200d",
    "\ufeff",
    "a\u0301",
    "\u00e1",
    "\u{1f600}",
    "\ufffd",
    "\uffff",
    "\u{10ffff}",
  ],
  ...[
    "<script>",
    "data: x",
    "id: 1",
    ": x",
    "a:b:c",
    "&topic=x",
    "?x#y",
    "+",
    "x".repeat(256),
    "\u6f22".repeat(256),
  ],
];

/** What is no topic. The last cannot stand in an address. */
export const NO_TOPICS: readonly string[] = [
  ...["a\nb", "a\rb", "a\r\nb", "\0", "a\0", "\t", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029"],
  ...["\u202e", "\u2066a", "\u200f", "\u061c", "x".repeat(257), "\u{1f600}".repeat(129)],
  ...["\ud800", "a\udc00", "\udc00\ud800"],
];

/** A topic from hell is heard by whoever listens to it, and by nobody else; what is none is refused. */
export async function topicsAreTexts(surface: Surface): Promise<void> {
  const listeners = await Promise.all(TOPICS.map((topic) => {
    const query = new URLSearchParams({ topic });
    return heard(surface, `GET /sse/events?${query} HTTP/1.1\n${ADA}`);
  }));
  const presence = await surface.send(`GET /sse/presence HTTP/1.1\n${BEARER}`);
  const { topics } = JSON.parse(fromLatin(presence.body));
  for (const topic of TOPICS) assertEquals(Object.hasOwn(topics, topic), true, topic);
  assertEquals((await surface.send(`GET /sse/metrics HTTP/1.1\n${BEARER}`)).status, 200);
  for (const [i, topic] of TOPICS.entries()) {
    const answer = await publish(surface, { topic, data: JSON.stringify(topic) }, i % 2 === 0);
    assertEquals(answer.status, 200, topic);
  }
  await publish(surface, { topic: "", data: END });
  for (const [i, topic] of TOPICS.entries()) {
    const got = (await listeners[i]?.())?.map(({ data }) => data);
    assertEquals(got, [JSON.stringify(topic), END], topic);
  }
  const post = (path: string, body: unknown): Promise<Answer> =>
    surface.send(`POST ${path} HTTP/1.1\n${ADA}\nContent-Type: application/json`, {
      body: JSON.stringify(body),
    });
  for (const topic of [...NO_TOPICS, ""]) {
    const answers = [
      post("/sse/ticket", { topics: ["fine", topic] }),
      post("/sse/subscribe", { connection: "nobody", topic }),
      post("/sse/unsubscribe", { connection: "nobody", topic }),
    ];
    if (topic !== "") answers.push(publish(surface, { topic, data: "x" }));
    if (topic.isWellFormed()) {
      const query = new URLSearchParams({ topic });
      answers.push(surface.send(`GET /sse/events?${query} HTTP/1.1\n${ADA}`));
      if (topic !== "") answers.push(publish(surface, { topic, data: "x" }, true));
    }
    for (const answer of answers) {
      assertEquals(told(await answer), "400 sse_topics", JSON.stringify(topic));
    }
  }
  const ref = (one: string) => ({ kind: "doc", ref: one, version: "1" });
  const subjects = [...TOPICS, ...NO_TOPICS].map(ref);
  for (const subject of subjects) {
    const answer = await post("/sse/digest", { subjects: [subject] });
    assert(["200", "400 digest_invalid"].includes(told(answer)), subject.ref);
  }
}

function fromLatin(text: string): string {
  return new TextDecoder().decode(Uint8Array.from(text, (character) => character.charCodeAt(0)));
}
