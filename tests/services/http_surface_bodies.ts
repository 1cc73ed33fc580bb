/**
 * The surface of `http_surface_main.ts`: bodies of every size and kind.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { connect } from "node:net";
import { KEY } from "../unit/service/world.ts";
import { type Sending, type Surface, told } from "./http_surface_server.ts";

const JSON_TYPE = "Content-Type: application/json";
const ADA = "X-User: ada";
const BEARER = `Authorization: Bearer ${KEY}`;

/** A route that takes a body of JSON. */
interface Route {
  readonly path: string;
  /** Who asks. */
  readonly who: string;
  /** What its codes begin with, but for `tooLarge` and `type`. */
  readonly code: string;
  /** The largest body. */
  readonly maxBytes: number;
  /** A body, and what it gets. */
  readonly good: readonly [string, string];
  /** Whether an empty request is good too. */
  readonly optional?: boolean;
}

const LIVE = JSON.stringify({ connection: "nobody", topic: "a" });
const KIB64 = 65_536;
const DIGEST = {
  code: "digest",
  maxBytes: 8 * KIB64,
  good: ['{"epoch":"","subjects":[]}', "200"],
} as const;
const ROUTES: readonly Route[] = [
  {
    ...{ path: "/sse/ticket", who: ADA, code: "ticket", maxBytes: KIB64, optional: true },
    good: ['{"topics":["a"]}', "200"],
  },
  {
    ...{ path: "/sse/subscribe", who: ADA, code: "subscribe", maxBytes: KIB64 },
    good: [LIVE, "404 subscribe_unknown"],
  },
  {
    ...{ path: "/sse/unsubscribe", who: ADA, code: "subscribe", maxBytes: KIB64 },
    good: [LIVE, "404 subscribe_unknown"],
  },
  {
    ...{ path: "/sse/publish", who: BEARER, code: "publish", maxBytes: 6 * 1_048_576 + 8192 },
    good: ['{"topic":"quiet","data":"x"}', "200"],
  },
  { path: "/sse/digest", who: ADA, ...DIGEST },
  { path: "/bare/digest", who: "X-Nobody: 1", ...DIGEST },
];

/** A body of a route is refused by its kind, its size and its coding before anything is done with it. */
export async function bodiesAreBounded(surface: Surface): Promise<void> {
  for (const { path, who, code, maxBytes, good: [good, done], optional = false } of ROUTES) {
    const post = async (more: string, sending: Sending): Promise<string> =>
      told(await surface.send(`POST ${path} HTTP/1.1\n${who}${more}`, sending));
    const isIn = async (what: string, expected: readonly string[], answer: Promise<string>) =>
      assert(expected.includes(await answer), `${path}, ${what}: ${await answer}`);
    const json = `\n${JSON_TYPE}`;
    const [bad] = [`400 ${code === "digest" ? "digest_invalid" : `${code}_body`}`];
    const [large, type] = [`413 ${code}_too_large`, `415 ${code}_content_type`];
    const chunked = `${json}\nTransfer-Encoding: chunked`;
    const over = " ".repeat(maxBytes + 1);
    const chunks = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    const byRuntime = "by the runtime";

    await isIn("nothing", [optional ? "200" : type], post("", {}));
    await isIn("JSON of no length", [bad], post(`${json}\nContent-Length: 0`, {}));
    await isIn("the bound", [done], post(json, { body: good.padEnd(maxBytes) }));
    await isIn("one over", [large], post(json, { body: over }));
    await isIn("chunked", [done], post(chunked, { body: chunks(good) }));
    await isIn("chunked, one over", [large], post(chunked, { body: chunks(over) }));
    await isIn("a broken chunk", [bad, byRuntime], post(chunked, { body: "1\r\nx\r\nZZ\r\n\r\n" }));
    await isIn(
      "a length that is short",
      [done, byRuntime],
      post(`${json}\nContent-Length: ${good.length}`, {
        body: `${good}GARBAGE`,
      }),
    );
    for (const length of ["-1", "1e3", "2\nContent-Length: 3", "99999999999999999999999", "0x10"]) {
      await isIn(length, [byRuntime], post(`${json}\nContent-Length: ${length}`, { body: "{}" }));
    }
    await isIn("two framings", [byRuntime], post(`${chunked}\nContent-Length: 2`, { body: "{}" }));
    // Nobody unpacks it: there is no bomb to go off.
    const bomb = await gzipped(new Uint8Array(20_000_000));
    for (const coding of ["gzip", "br", "deflate, gzip", "x-nothing"]) {
      await isIn(coding, [bad], post(`${json}\nContent-Encoding: ${coding}`, { body: bomb }));
    }
    const types = ["", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"];
    types.push(
      "application/json5",
      "application/json, text/plain",
      "text/json",
      "application /json",
    );
    for (const one of types) {
      await isIn(`type ${one}`, [type], post(one && `\nContent-Type: ${one}`, { body: good }));
    }
    for (
      const one of ["APPLICATION/JSON", "application/json; charset=utf-16", "application/json;"]
    ) {
      await isIn(`type ${one}`, [done], post(`\nContent-Type: ${one}`, { body: good }));
    }
  }
}

const deep = (times: number): string => `${"[".repeat(times)}${"]".repeat(times)}`;

/** What is no JSON object of UTF-8 is refused, and what is one costs no more than its size. */
export async function bombsDoNotGoOff(surface: Surface): Promise<void> {
  for (const { path, who, code, maxBytes, good: [good, done] } of ROUTES) {
    const post = async (body: string | Uint8Array): Promise<string> =>
      told(await surface.send(`POST ${path} HTTP/1.1\n${who}\n${JSON_TYPE}`, { body }));
    const bad = `400 ${code === "digest" ? "digest_invalid" : `${code}_body`}`;
    const fields = good.slice(1);
    const bytes = (...values: number[]) =>
      Uint8Array.from([...encoder.encode('{"x":"'), ...values, 34, 125]);
    const broken: (string | Uint8Array)[] = ["", " ", "null", "[]", "7", '"x"', "{", "{}{}", "{,}"];
    broken.push("{'x':1}", '{"x":1e}', '{"x":NaN}', '{"x":"\0"}', '{"x":"\n"}', `\0${good}`);
    broken.push(bytes(0xff), bytes(0xc0, 0xaf), bytes(0xed, 0xa0, 0x80), bytes(0xf0, 0x9f));
    // UTF-16.
    broken.push(Uint8Array.from([...good].flatMap((c) => [c.charCodeAt(0), 0])));
    for (const body of broken) assertEquals(await post(body), bad, `${path} ${body.slice(0, 40)}`);
    const whole = [
      `{"x":1e999,${fields}`,
      `{"x":${"9".repeat(20_000)},${fields}`,
      `{"__proto__":{"admin":true},"constructor":{"prototype":{"user":"eve"}},${fields}`,
      `{"":0,"toString":1,"hasOwnProperty":null,"valueOf":[],${fields}`,
      `{"x":1,"x":2,${fields}`,
    ];
    for (const body of whole) assertEquals(await post(body), done, `${path} ${body.slice(0, 40)}`);
    // Deno's and Bun's parsers may give up on the depth, and are caught.
    const brackets = await post(`{"x":${deep(Math.min(500_000, maxBytes / 2 - 50))},${fields}`);
    assert([done, bad].includes(brackets), `${path} of brackets: ${brackets}`);
    const open = "[".repeat(Math.min(1_000_000, maxBytes));
    assertEquals(await post(open), bad, `${path} of open brackets`);
    assertEquals(await post(deep(maxBytes)), `413 ${code}_too_large`);
    const keys = Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join();
    const fits = keys.length < maxBytes - 100;
    assertEquals(await post(`{${keys},${fields}`), fits ? done : `413 ${code}_too_large`, path);
  }
}

/** A body that nobody has read is no request of its own: what follows it on the connection is the next one. */
export async function bodiesAreNoRequests({ port }: Surface): Promise<void> {
  const inner = "GET /sse/ready HTTP/1.1\r\nHost: pod\r\n\r\n";
  const length = `Content-Length: ${inner.length}`;
  const chunk = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`;
  const last = "GET /sse/health HTTP/1.1\r\nHost: pod\r\nConnection: close\r\n\r\n";
  const targets = ["POST /sse/events", "PUT /sse/ticket", "POST /sse/ticket", "POST /sse/publish"];
  targets.push("POST /nowhere", "POST /bare/events", "POST /bare/digest", "POST /bare/alive");
  targets.push("GET /sse/health", "POST /sse/health", "DELETE /sse/digest", "OPTIONS /cors/ticket");
  for (const target of targets) {
    for (
      const [framing, body] of [[length, inner], ["Transfer-Encoding: chunked", chunk]] as const
    ) {
      const head = `${target} HTTP/1.1\r\nHost: pod\r\nX-User: ada\r\n${framing}\r\n\r\n`;
      const text = await conversation(port, `${head}${body}${last}`);
      assert(!text.includes('"ready"'), `${target}, ${framing}: ${text}`);
      const answers = text.match(/HTTP\/1\.1 \d/g) ?? [];
      // Bun closes a connection on which the next request comes before the answer to the first.
      assert(answers.length <= 2, `${target}, ${framing}: ${text}`);
    }
  }
}

/** Sends a text, and gives all that came until the server closed the connection. */
function conversation(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let got = "";
    socket.setEncoding("latin1");
    socket.on("data", (more: string) => got += more);
    socket.on("error", () => {});
    socket.on("close", () => resolve(got));
    socket.write(text);
  });
}

const encoder = new TextEncoder();

/** Fields that are not what they must be are named, and nothing is done. */
export async function fieldsAreChecked(surface: Surface): Promise<void> {
  const post = async (path: string, who: string, body: string): Promise<string> =>
    told(await surface.send(`POST ${path} HTTP/1.1\n${who}\n${JSON_TYPE}`, { body }));
  const { head } = await surface.state();
  const many = JSON.stringify(Array.from({ length: 100_000 }, (_, i) => `t${i}`));
  const some = JSON.stringify(Array.from({ length: 8000 }, (_, i) => `t${i}`));
  const cases: [string, string, string, string][] = [
    ["/sse/ticket", ADA, '{"topics":"a"}', "400 ticket_body"],
    ["/sse/ticket", ADA, '{"topics":{"length":1,"0":"a"}}', "400 ticket_body"],
    ["/sse/ticket", ADA, '{"topics":["a",1e999]}', "400 ticket_body"],
    ["/sse/ticket", ADA, '{"topics":[["a"]]}', "400 ticket_body"],
    ["/sse/ticket", ADA, `{"topics":${some}}`, "400 sse_topics"],
    ["/sse/ticket", ADA, `{"topics":${many}}`, "413 ticket_too_large"],
    ["/sse/publish", BEARER, '{"__proto__":{"topic":"a","data":"x"}}', "400 publish_body"],
    ["/sse/publish", BEARER, '{"topic":"a","data":1e999}', "400 publish_body"],
    ["/sse/publish", BEARER, '{"topic":"a","data":null}', "400 publish_body"],
    ["/sse/publish", BEARER, '{"topic":["a"],"data":"x"}', "400 publish_body"],
    ["/sse/publish", BEARER, '{"topic":null,"data":"x"}', "400 publish_body"],
    ["/sse/publish", BEARER, '{"topic":"a","data":"x","ephemeral":1}', "400 publish_body"],
    ["/sse/publish", BEARER, '{"topic":"a","data":"x","id":"a b"}', "400 publish_body"],
    ["/sse/publish", BEARER, '{"topic":"a","data":"x","id":"a\\r\\nb"}', "400 publish_body"],
    [
      "/sse/publish",
      BEARER,
      `{"topic":"a","data":"${"x".repeat(1_048_577)}"}`,
      "413 publish_too_large",
    ],
    [
      "/sse/publish",
      BEARER,
      `{"topic":"a","name":"${"x".repeat(1_048_577)}","data":""}`,
      "413 publish_too_large",
    ],
    ["/sse/subscribe", ADA, '{"connection":"a/b","topic":"a"}', "400 subscribe_body"],
    ["/sse/subscribe", ADA, '{"connection":"*","topic":"a"}', "400 subscribe_body"],
    [
      "/sse/subscribe",
      ADA,
      '{"connection":"a","topic":"a","history":{"last":1e999}}',
      "400 subscribe_body",
    ],
    [
      "/sse/subscribe",
      ADA,
      '{"connection":"a","topic":"a","history":{"last":-1}}',
      "400 subscribe_body",
    ],
    [
      "/sse/subscribe",
      ADA,
      '{"connection":"a","topic":"a","history":{"sinceMs":0.5}}',
      "400 subscribe_body",
    ],
    [
      "/sse/subscribe",
      ADA,
      `{"connection":"a","topic":"a","after":"${"x".repeat(65)}"}`,
      "400 subscribe_body",
    ],
    [
      "/sse/digest",
      ADA,
      '{"subjects":[{"kind":"__proto__","ref":"x","version":"1"}]}',
      "400 digest_invalid",
    ],
    ["/sse/digest", ADA, `{"subjects":[${"{},".repeat(100_000)}{}]}`, "400 digest_invalid"],
    ["/sse/digest", ADA, '{"epoch":1e999,"subjects":[]}', "400 digest_invalid"],
  ];
  for (const [path, who, body, expected] of cases) {
    assertEquals(await post(path, who, body), expected, `${path} ${body.slice(0, 60)}`);
  }
  assertEquals((await surface.state()).head, head, "nothing was published");
}

/**
 * Opens requests whose bodies never come to their end.
 *
 * @returns What closes them.
 */
export function holdBodies({ port }: Surface): () => void {
  const sockets = ROUTES.flatMap(({ path, who }) =>
    Array.from({ length: 8 }, () => {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      const head =
        `POST ${path} HTTP/1.1\r\nHost: pod\r\n${who}\r\n${JSON_TYPE}\r\nContent-Length: 99`;
      socket.write(`${head}\r\n\r\n{"topics":`);
      return socket;
    })
  );
  return () => sockets.forEach((socket) => socket.destroy());
}

async function gzipped(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
