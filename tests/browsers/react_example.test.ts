/**
 * The example for React: it is bundled, served and used, as somebody would who tries it.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { eventually } from "../support/poll.ts";
import { BROWSERS } from "../support/runtimes.ts";
import { test } from "../support/test.ts";
import { startBrowser } from "./support/driver.ts";

const ROOT = new URL("../../", import.meta.url);
const START_MS = 30_000;

const chromium = BROWSERS.find(({ name }) => name === "chromium");
if (chromium === undefined) throw new Error("The table of browsers has no Chromium");

test(
  "the example for React shows what was said before, and what is said now, room by room",
  async () => {
    await withExample(async (url) => {
      await say(url, "lobby", "before");
      const browser = await startBrowser(chromium);
      try {
        const tab = await (await browser.newProfile()).open(url);
        const shown = (): Promise<string> =>
          tab.run(() => document.querySelector("main")?.innerText ?? "");
        const shows = (text: string): Promise<unknown> =>
          eventually(async () => (await shown()).startsWith(text), { what: text, everyMs: 50 });
        await shows("lobby: open\n\nbefore\n");
        await tab.run(() => {
          const input = document.querySelector("input");
          if (input !== null) input.value = "typed";
          document.querySelector<HTMLButtonElement>("button[type=submit]")?.click();
        });
        await shows("lobby: open\n\nbefore\ntyped\n");
        await say(url, "kitchen", "elsewhere");
        await say(url, "lobby", "after");
        await shows("lobby: open\n\nbefore\ntyped\nafter\n");
        await tab.run(() => document.querySelectorAll("button")[1]?.click());
        await shows("kitchen: open\n\nelsewhere\n");
        assertEquals(await tab.complaints(), []);
      } finally {
        await browser.close();
      }
    });
  },
  { needs: [...chromium.programs, "node"], foreignTimers: true, timeoutMs: 60_000 },
);

async function say(url: string, room: string, text: string): Promise<void> {
  const response = await fetch(`${url}/lines?room=${room}`, { method: "POST", body: text });
  assertEquals(response.status, 200, await response.text());
}

async function withExample(work: (url: string) => Promise<void>): Promise<void> {
  const child = new Deno.Command("node", {
    args: ["--import", "tsx", "examples/react/main.ts"],
    cwd: ROOT,
    env: { PORT: "0", TSX_TSCONFIG_PATH: "examples/react/tsconfig.json" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  const pump = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) output += text;
  };
  const pumps = Promise.all([pump(child.stdout), pump(child.stderr)]);
  try {
    const url = await eventually(() => /LISTEN (\S+)/.exec(output)?.[1], {
      what: "the example's address",
      timeoutMs: START_MS,
    });
    await work(url);
  } catch (error) {
    if (error instanceof Error) error.message += `\n[the example printed]\n${output}`;
    throw error;
  } finally {
    child.kill("SIGTERM");
    await child.status;
    await pumps;
  }
}
