import { assert, assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";
import { readUntil, runDemo, type RunningDemo, withDemo, withDemoIn } from "./support.ts";

const json = { "Content-Type": "application/json" };
/** Of the demos here alone. */
const KEY = "a-key-for-this-test";

async function post(
  demo: RunningDemo,
  path: string,
  headers: Record<string, string>,
  body = "{}",
): Promise<[status: number, code: unknown]> {
  const response = await fetch(demo.url + path, { method: "POST", headers, body });
  const text = await response.text();
  return [response.status, text === "" ? undefined : JSON.parse(text).code];
}

test("a taken port is said, and a free one is taken instead", () =>
  withDemo((first) => {
    const port = new URL(first.url).port;
    return withDemo(async (second) => {
      assert(second.url !== first.url);
      // It is the line after the address: it may come in a piece of its own.
      await eventually(() => second.output().includes(`port ${port} is taken`), {
        what: "the taken port to be said",
      });
    }, ["--port", port]);
  }));

test("only the page itself may press the buttons", () =>
  withDemo(async (demo) => {
    const refused: [number, string] = [403, "same_origin"];
    for (const path of ["/restart", "/burst", "/cut", "/alive"]) {
      assertEquals(await post(demo, path, json), refused, "neither header");
      assertEquals(await post(demo, path, { ...json, Origin: "http://evil.example" }), refused);
      for (const site of ["cross-site", "same-site", "none"]) {
        const headers = { ...json, "Sec-Fetch-Site": site, Origin: demo.url };
        assertEquals(await post(demo, path, headers), refused, site);
      }
    }
    assertEquals(await post(demo, "/restart", { ...json, Origin: demo.url }), [200, undefined]);
    const own = { ...json, "Sec-Fetch-Site": "same-origin" };
    assertEquals(await post(demo, "/restart", own), [200, undefined]);
  }));

test("a burst is bounded in events, in bytes and in the request's own size", () =>
  withDemo(async (demo) => {
    const own = { ...json, Origin: demo.url };
    const refused = ["", "no", "null", "[]", "{}", '{"count":0}', '{"count":1.5}', '{"count":4001}']
      .concat('{"count":"5"}', '{"count":1,"size":-1}', '{"count":1,"size":10241}')
      .concat(`{"count":1,"pad":"${"x".repeat(300)}"}`);
    for (const body of refused) {
      assertEquals(await post(demo, "/burst", own, body), [400, "burst"], body.slice(0, 40));
    }
    const plain = { "Content-Type": "text/plain", Origin: demo.url };
    assertEquals(await post(demo, "/burst", plain, '{"count":1}'), [400, "burst"]);
    assertEquals(await post(demo, "/burst", own, '{"count":5,"size":10}'), [200, undefined]);
    // The second comes while the first still publishes.
    const two = [1, 2].map(() => post(demo, "/burst", own, '{"count":2000}'));
    assertEquals((await Promise.all(two)).map(([status]) => status).sort(), [200, 409]);
  }));

test("a cut ends the connections of the browser it names, and of no other", () =>
  withDemo(async (demo) => {
    const own = { ...json, Origin: demo.url };
    const refused = ["", "null", "{}", '{"tag":""}', '{"tag":1}', `{"tag":"${"x".repeat(300)}"}`];
    for (const body of refused) {
      assertEquals(await post(demo, "/cut", own, body), [400, "cut"], body.slice(0, 40));
    }
    const [cut, kept] = await Promise.all(["one", "two"].map((tag) => {
      return fetch(`${demo.url}/events`, { headers: { "SSE-Client": tag } });
    }));
    const whole = cut?.text();
    assertEquals(await post(demo, "/cut", own, '{"tag":"one"}'), [200, undefined]);
    // It ends like a lost network: without a word.
    assertMatch(await whole ?? "", /^retry: \d+\n\nevent: sse:hello\n(?:(?!sse:reset)[^])*$/);
    await readUntil(kept, /event: cpu\n/);
  }));

test("a stream has the topics that it asked for, and every one of them when it did not", () =>
  withDemo(async (demo) => {
    const own = { ...json, Origin: demo.url };
    const [burst, all] = await Promise.all(["?topic=burst&topic=delay", ""].map((query) => {
      return fetch(`${demo.url}/events${query}`);
    }));
    assertEquals(await post(demo, "/burst", own, '{"count":1}'), [200, undefined]);
    const names = (text: string) => new Set(text.match(/(?<=^event: )[a-z]+$/gm));
    const some = await readUntil(burst, /event: burst\n[^]*event: delay\n[^]*event: delay\n/);
    // The state of the hub is told once to every stream that opens.
    assertEquals(names(some), new Set(["status", "burst", "delay"]));
    await readUntil(all, /event: burst\n[^]*event: cpu\n[^]*event: memory\n[^]*event: delay\n/);
    const refused = await fetch(`${demo.url}/events?topic=${"x".repeat(300)}`);
    assertEquals([refused.status, (await refused.json()).code], [400, "sse_topics"]);
  }));

test("on a loopback address only loopback names are answered", () =>
  withDemo(async (demo) => {
    const { port } = new URL(demo.url);
    for (
      const [host, status] of [
        ["evil.example", "403"],
        ["127.0.0.1.evil.example", "403"],
        [`evil.example:${port}`, "403"],
        [`localhost:${port}`, "200"],
        [`127.0.0.1:${port}`, "200"],
      ] as const
    ) {
      assertStringIncludes(await statusLine(Number(port), host), ` ${status} `, host);
    }
  }));

test("the pages' files forbid foreign and inline code, and nothing else is served", () =>
  withDemo(async (demo) => {
    const served = new Set(["/favicon.ico", "/worker.js"]);
    for (const path of ["/", "/lifecycle"]) {
      const page = await fetch(demo.url + path);
      const policy = page.headers.get("Content-Security-Policy") ?? "";
      assertStringIncludes(policy, "default-src 'none'");
      assert(!policy.includes("unsafe"), policy);
      const text = await page.text();
      assert(!/<script(?![^>]*\bsrc=)|\son[a-z]+=|\sstyle=|https?:/.test(text), "nothing inline");
      for (const [, file = ""] of text.matchAll(/(?:src|href)="(\/[^"]*)"/g)) served.add(file);
    }
    // A set is walked with what is added on the way: so every import of an import is looked at.
    for (const file of served) {
      const response = await fetch(demo.url + file);
      assertEquals(response.status, 200, file);
      assertEquals(response.headers.get("X-Content-Type-Options"), "nosniff", file);
      assertStringIncludes(
        response.headers.get("Content-Security-Policy") ?? "",
        "script-src 'self'",
      );
      const body = await response.text();
      assert(!/https?:\/\/(?!www\.w3\.org\/2000\/svg)/.test(body), `${file} works offline`);
      if (!file.endsWith(".js") || file.startsWith("/lib/")) continue;
      for (const [, import_ = ""] of body.matchAll(/from "([^"]*)"/g)) {
        served.add(new URL(import_, demo.url + file).pathname);
      }
    }
    for (const file of Deno.readDirSync("examples/demo/page")) {
      const name = file.name.endsWith(".html") ? "" : file.name;
      assert(name === "" || served.has(`/${name}`), `${name} is used by no page`);
    }
    for (const name of ["client", "tabs", "worker"]) assert(served.has(`/lib/${name}.js`), name);
    const map = await fetch(`${demo.url}/lib/client.js.map`);
    assertEquals(map.headers.get("Content-Type"), "application/json");
    assert((await map.json()).sources.includes("../../src/client/frames.ts"));

    const nothing = ["/nothing", "/page/index.html", "/..%2fmain.ts", "/main.ts", "/stream.ts"]
      .concat(
        "/lib/",
        "/lib/client.ts",
        "/lib/hub.js",
        "/lib/..%2f..%2fdeno.json",
        "/lib/client.js/",
      );
    for (const path of nothing) {
      const response = await fetch(demo.url + path);
      assertEquals([response.status, (await response.json()).code], [404, "not_found"], path);
    }
  }));

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  test(`on ${signal} every client is told goodbye, and the process ends with 0`, () =>
    withDemo(async (demo) => {
      const streams = await Promise.all([1, 2, 3].map(async () => {
        const response = await fetch(`${demo.url}/events`);
        assertEquals(response.headers.get("Content-Type"), "text/event-stream");
        // In an object: a promise alone would be awaited here, to the end of its stream.
        return { text: response.text() };
      }));
      const { code, afterMs } = await demo.stop(signal);
      assertEquals(code, 0);
      assertLess(afterMs, 5000);
      for (const stream of streams) {
        const text = await stream.text;
        assertMatch(text, /^retry: \d+\n\nevent: sse:hello\n/);
        assert(
          text.endsWith('event: sse:reset\ndata: {"reason":"shutdown"}\n\n'),
          text.slice(-200),
        );
      }
      assertStringIncludes(demo.output(), "Bye.");
    }));
}

test("the temporary file is there while it runs, and goes when the terminal is closed", () =>
  withDemo(async (demo) => {
    const [folder] = [...Deno.readDirSync(demo.folder)].map(({ name }) => name);
    assertMatch(folder ?? "", /^tidemark_demo_/);
    assert(Deno.statSync(`${demo.folder}/${folder}/events.db`).isFile);
    await demo.stop("SIGHUP");
    assertEquals([...Deno.readDirSync(demo.folder)], []);
  }));

test("a demo that cannot listen says why, and leaves no file behind", async () => {
  const { code, text } = await runDemo(["--hostname", "192.0.2.1", "--port", "0"]);
  assertEquals(code, 1);
  assertMatch(text, /^Cannot start: /);
});

test("over a file that stays, the next process resumes the clients of the one before", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const args = ["--port", "0", "--journal", `sqlite:${folder}/events.db`];
    let cursor = "";
    await withDemoIn(folder, async (demo) => {
      const said = await readUntil(await fetch(`${demo.url}/events`), /id: \S+\n[^]*id: \S+\n/);
      cursor = /^id: (\S+)$/m.exec(said)?.[1] ?? "";
    }, args);
    await withDemoIn(folder, async (demo) => {
      const headers = { "Last-Event-ID": cursor };
      const said = await readUntil(await fetch(`${demo.url}/events`, { headers }), /\nid: \S+\n/);
      assertStringIncludes(said, '"verdict":"resumed"');
      const [epoch, offset] = cursor.split(":");
      assertStringIncludes(said, `\nid: ${epoch}:${Number(offset) + 1}\n`);
    }, args);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test("arguments that make no sense are refused with the usage", async () => {
  for (
    const args of [["--prot", "1"], ["--port", "x"], ["--port", "65536"], ["here"], [
      "--journal",
      "disk",
    ], ["--journal", "sqlite:"]]
  ) {
    const { code, text } = await runDemo(args);
    assertEquals(code, 2, args.join(" "));
    assertStringIncludes(text, "Usage:");
  }
  const { code, text } = await runDemo(["--help"]);
  assertEquals(code, 0);
  assertStringIncludes(text, "--hostname");
});

/** The first line of the answer to a request for the page under some host name. */
async function statusLine(port: number, host: string): Promise<string> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port });
  try {
    const request = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    await socket.write(new TextEncoder().encode(request));
    let text = "";
    for await (const chunk of socket.readable.pipeThrough(new TextDecoderStream())) text += chunk;
    return text.split("\r\n", 1)[0] ?? "";
  } finally {
    try {
      socket.close();
    } catch {
      // Reading to the end has closed it.
    }
  }
}

test("behind the page stands the service: tickets, a key to publish and to look with, health", () =>
  withDemo(async (demo) => {
    const own = { ...json, Origin: demo.url };
    assertEquals((await (await fetch(`${demo.url}/ready`)).json()).status, "ready");
    const minted = await fetch(`${demo.url}/ticket`, {
      method: "POST",
      headers: own,
      body: '{"topics":["burst"]}',
    });
    const { ticket } = await minted.json();
    const stream = await fetch(`${demo.url}/events?ticket=${ticket}`);
    const again = await fetch(`${demo.url}/events?ticket=${ticket}`);
    assertEquals([again.status, (await again.json()).code], [401, "ticket_invalid"]);
    assertEquals(await post(demo, "/ticket", own, '{"topics":["other"]}'), [403, "forbidden"]);

    const event = '{"topic":"burst","name":"burst","data":"by curl"}';
    assertEquals(await post(demo, "/publish", json, event), [401, "unauthenticated"]);
    const key = { Authorization: `Bearer ${KEY}` };
    assertEquals(await post(demo, "/publish", { ...json, ...key }, event), [200, undefined]);
    await readUntil(stream, /event: burst\ndata: by curl\n/);
    const metrics = await fetch(`${demo.url}/metrics`, { headers: key });
    assertMatch(await metrics.text(), /^tidemark_published_total [1-9]/m);
    const closed = await fetch(`${demo.url}/metrics`);
    assertEquals([closed.status, (await closed.json()).code], [401, "unauthenticated"]);

    // The service is another one after a restart, and its tickets are the same.
    assertEquals(await post(demo, "/restart", own), [200, undefined]);
    assertEquals((await (await fetch(`${demo.url}/ready`)).json()).status, "ready");
    await (await fetch(`${demo.url}/events?topic=cpu`)).body?.cancel();
  }, ["--port", "0", "--key", KEY]));
