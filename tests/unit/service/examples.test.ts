/**
 * The examples, each on its runtime: started, used and stopped as somebody would who tries it.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { assert, assertEquals } from "@std/assert";
import { FrameReader } from "../../../src/testing/frames.ts";
import { eventually } from "../../support/poll.ts";
import { test } from "../../support/test.ts";
import { KEY } from "./world.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const START_MS = 30_000;
const ADA = { Authorization: "Bearer ada" };

interface Example {
  readonly name: string;
  /** What starts it: this runtime, with these arguments. */
  readonly args: readonly string[];
  /** What is done with it. */
  use(url: string): Promise<void>;
}

/** `--import tsx` and its configuration, as the example's first lines say. */
const tsx = (name: string) => ["--import", "tsx", `examples/${name}/main.ts`];

function examples(): readonly Example[] {
  if ("Deno" in globalThis) {
    const offline = !import.meta.resolve("@std/assert").startsWith("jsr:");
    const flags = offline ? ["--import-map=tests/offline/import_map.json"] : [];
    const args = ["run", "-A", "--no-check", ...flags, "examples/deno/main.ts"];
    return [{ name: "deno", args, use: useTicket }];
  }
  if ("Bun" in globalThis) {
    return [{ name: "bun", args: ["run", "examples/bun/main.ts"], use: useKey }];
  }
  return [
    { name: "node", args: tsx("node"), use: useLateTopic },
    { name: "hono", args: tsx("hono"), use: useCookie },
  ];
}

for (const { name, args, use } of examples()) {
  test(`the example for ${name} does what its first lines say, and ends when it is told to`, async () => {
    const env = {
      ...process.env,
      ...{ PORT: "0", PUBLISH_KEY: KEY, TSX_TSCONFIG_PATH: `examples/${name}/tsconfig.json` },
    };
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => output += text);
    }
    // Both pipes too: Deno counts what is left of a child.
    const closed = once(child, "close");
    try {
      const [, url] = await eventually(
        () => child.exitCode === null ? /LISTEN (\S+)/.exec(output) : ["", ""],
        { what: "the example's address", timeoutMs: START_MS },
      );
      assert(url, `it ended with ${child.exitCode}`);
      await use(url);
      await stop(child, closed);
      assertEquals(output, `LISTEN ${url}\n`);
    } catch (error) {
      if (error instanceof Error) error.message += `\n[the example printed]\n${output}`;
      throw error;
    } finally {
      if (child.exitCode === null) child.kill("SIGKILL");
      await closed;
    }
  });
}

/** SIGINT, behind which somebody waits: there is no lame duck. */
async function stop(child: ChildProcess, closed: Promise<unknown>): Promise<void> {
  // By the process's id: `child.kill` on Deno says of any child that the signal ended it.
  process.kill(child.pid ?? NaN, "SIGINT");
  await closed;
  assertEquals([child.exitCode, child.signalCode], [0, null]);
}

function post(url: string, body: unknown, headers: Record<string, string>): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

async function opened(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  assertEquals(response.status, 200);
  const reader = new FrameReader(response.body);
  const [, hello] = await reader.read(2);
  return { reader, hello: JSON.parse(hello?.data ?? "") };
}

async function useTicket(url: string): Promise<void> {
  const minted = await post(`${url}/ticket`, { topics: ["room:lobby"] }, ADA);
  const { ticket } = await minted.json();
  const { reader } = await opened(`${url}/events?ticket=${ticket}`);
  assertEquals((await reader.read(1))[0]?.event, "time");
  await reader.cancel();
  const again = await fetch(`${url}/events?ticket=${ticket}`);
  assertEquals([again.status, (await again.json()).code], [401, "ticket_invalid"]);
}

async function useKey(url: string): Promise<void> {
  const key = { Authorization: `Bearer ${KEY}` };
  const { reader } = await opened(`${url}/events?topic=room:lobby`, ADA);
  const event = { topic: "room:lobby", name: "say", data: "hello" };
  assertEquals(await (await post(`${url}/publish`, event, key)).json(), { offset: "1" });
  assertEquals((await reader.read(1))[0]?.data, "hello");
  const counters = await (await fetch(`${url}/metrics`, { headers: key })).text();
  assert(counters.includes("tidemark_published_total 1\n"));
  await reader.cancel();
}

async function useLateTopic(url: string): Promise<void> {
  const call = await opened(`${url}/events?topic=call:7`, ADA);
  assertEquals((await call.reader.read(1))[0]?.event, "word");
  await call.reader.cancel();
  const { reader, hello } = await opened(`${url}/events`, ADA);
  const body = { connection: hello.connection, topic: "call:7", history: true };
  const answer = await (await post(`${url}/subscribe`, body, ADA)).json();
  assertEquals(answer.verdict, "fresh");
  const [begin, first] = await reader.read(2);
  assertEquals([begin?.event, first?.data], ["sse:history", "hello,"]);
  await reader.cancel();
}

async function useCookie(url: string): Promise<void> {
  assert((await (await fetch(url)).text()).includes("EventSource"));
  assertEquals((await fetch(`${url}/sse/events?topic=room:lobby`)).status, 401);
  const login = await fetch(`${url}/login`, { method: "POST", body: "ada" });
  const [cookie = ""] = login.headers.get("Set-Cookie")?.split(";") ?? [];
  const { reader } = await opened(`${url}/sse/events?topic=room:lobby`, { Cookie: cookie });
  await fetch(`${url}/say`, { method: "POST", body: "hello", headers: { Cookie: cookie } });
  assertEquals((await reader.read(1))[0]?.data, "ada: hello");
  await reader.cancel();
}

if (!("Deno" in globalThis) && !("Bun" in globalThis)) {
  test("the example for Cloudflare keeps its events and its tickets in its object", async () => {
    const { buildSync } = await import("esbuild");
    const { Miniflare } = await import("miniflare");
    const { outputFiles: [script] } = buildSync({
      entryPoints: [`${ROOT}examples/cloudflare/worker.ts`],
      tsconfig: `${ROOT}examples/cloudflare/tsconfig.json`,
      ...{ bundle: true, format: "esm", target: "esnext", write: false, logLevel: "warning" },
    });
    const worker = new Miniflare({
      modules: true,
      script: script?.text ?? "",
      ...{ host: "127.0.0.1", port: 0, cf: false, compatibilityDate: "2026-04-01" },
      bindings: { PUBLISH_KEY: KEY },
      durableObjects: { ROOM: { className: "Room", useSQLite: true } },
    });
    try {
      const { origin } = await worker.ready;
      const url = `${origin}/lobby`;
      const minted = await post(`${url}/ticket`, { topics: ["chat"] }, ADA);
      const { ticket } = await minted.json();
      const { reader } = await opened(`${url}/events?ticket=${ticket}`);
      const event = { topic: "chat", data: "hello" };
      const key = { Authorization: `Bearer ${KEY}` };
      assertEquals(await (await post(`${url}/publish`, event, key)).json(), { offset: "1" });
      assertEquals((await reader.read(1))[0]?.data, "hello");
      await reader.cancel();
      const again = await fetch(`${url}/events?ticket=${ticket}`);
      assertEquals([again.status, (await again.json()).code], [401, "ticket_invalid"]);
      const other = await fetch(`${origin}/kitchen/events`, { headers: ADA });
      assertEquals((await other.json()).code, "sse_topics");
    } finally {
      await worker.dispose();
    }
  });
}
