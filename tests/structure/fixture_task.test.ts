import { assertEquals, assertLess, assertMatch } from "@std/assert";
import { eventually } from "../support/poll.ts";
import { test } from "../support/test.ts";
import { ROOT } from "./project.ts";

const START_MS = 30_000;
const STOP_MS = 5000;

for (const runtime of ["deno", "bun", "node", "workerd"]) {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    test(
      `the fixture task starts on ${runtime}, prints one line, and stops on ${signal}`,
      async () => {
        const child = new Deno.Command("node", {
          args: ["scripts/run.mjs", "fixture", "--runtime", runtime, "--addr", "127.0.0.1:0"],
          cwd: ROOT,
          stdin: "null",
          stdout: "piped",
          stderr: "piped",
        }).spawn();
        const out = collect(child.stdout);
        const log = collect(child.stderr);
        let stopped = false;
        const ended = child.status.finally(() => stopped = true);
        try {
          await eventually(() => stopped || out.text.includes("\n"), {
            what: `the line of the fixture on ${runtime}`,
            timeoutMs: START_MS,
          });
          assertMatch(out.text, /^LISTEN http:\/\/127\.0\.0\.1:\d+\n$/, log.text);
          const response = await fetch(`${out.text.trim().slice("LISTEN ".length)}/control/state`);
          assertEquals(response.status, 200);
          // A stream is open while the server is asked to stop.
          const stream = await fetch(`${out.text.trim().slice("LISTEN ".length)}/events`);
          await response.body?.cancel();
          const asked = performance.now();
          child.kill(signal);
          const { code } = await ended;
          assertLess(performance.now() - asked, STOP_MS);
          assertEquals([code, out.text.split("\n").length], [0, 2], log.text);
          await stream.body?.cancel().catch(() => {});
        } finally {
          if (!stopped) child.kill("SIGKILL");
          await ended;
          await Promise.all([out.done, log.done]);
        }
      },
      { needs: ["node"], timeoutMs: START_MS + 2 * STOP_MS },
    );
  }
}

interface Collected {
  readonly text: string;
  readonly done: Promise<void>;
}

function collect(stream: ReadableStream<Uint8Array>): Collected {
  const collected = { text: "", done: Promise.resolve() };
  collected.done = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) collected.text += decoder.decode(bytes, { stream: true });
  })();
  return collected;
}
