/** What npm users install, loaded by a page as it is: file by file, and as one bundle. */
import { assertEquals } from "@std/assert";
import puppeteer from "puppeteer-core";
import { createHub } from "../../mod.ts";
import { execute, ROOT, scratch } from "../structure/project.ts";
import { CHROMIUM, CHROMIUM_ARGS } from "../support/chromium.ts";
import { test } from "../support/test.ts";

const PACKAGE = scratch("npm-page");

for (const file of ["client.js", "browser/client.js"]) {
  test(`a page without a build streams with ${file} of the npm package`, async () => {
    const args = ["scripts/build_npm.mjs", "--out", PACKAGE];
    const { code, output } = await execute("node", args, 60_000);
    assertEquals(code, 0, output);
    const hub = createHub({ replay: { maxEvents: 10, ttlMs: 600_000 } });
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request, info) => {
        const { pathname } = new URL(request.url);
        if (pathname === "/events") return hub.serve(request, { host: info });
        if (pathname === "/favicon.ico") return new Response(null, { status: 204 });
        if (pathname === "/") return html(file);
        return script(pathname);
      },
    );
    const browser = await puppeteer.launch({
      executablePath: CHROMIUM,
      args: [...CHROMIUM_ARGS],
    });
    try {
      const page = await browser.newPage();
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(String(error)));
      await page.goto(`http://127.0.0.1:${server.addr.port}/`);
      await page.waitForFunction(() => document.title === "open", { timeout: 20_000 });
      hub.publish({ name: "tick", data: "🌊" });
      await page.waitForFunction(() => document.title === "tick 🌊", { timeout: 20_000 });
      assertEquals(complaints, []);
    } finally {
      await browser.close();
      await hub.shutdown();
      await server.shutdown();
    }
  }, { needs: [CHROMIUM, "node"], timeoutMs: 120_000, foreignTimers: true });
}

function html(file: string): Response {
  const code = `<!DOCTYPE html><title>loading</title><script type="module">
    import { createStream } from "/${file}";
    createStream({
      url: "/events",
      revalidate: () => { document.title = "open"; },
      onFrame: ({ type, data }) => { document.title = type + " " + data; },
    }).start();
  </script>`;
  return new Response(code, { headers: { "Content-Type": "text/html; charset=utf-8" } });
}

async function script(pathname: string): Promise<Response> {
  const code = await Deno.readTextFile(new URL(`${PACKAGE}${pathname}`, ROOT));
  return new Response(code, { headers: { "Content-Type": "text/javascript; charset=utf-8" } });
}
