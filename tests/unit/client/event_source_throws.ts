/**
 * A program of its own, for what a listener that throws does to one: `handled` or `unhandled`.
 *
 * @module
 */
import process from "node:process";
import { createEventSource } from "../../../src/client/event_source.ts";
import { frame, PuppetServer } from "./puppet_server.ts";

if (process.argv[2] === "handled") {
  const report = (error: unknown): void => console.log(`reported: ${(error as Error).message}`);
  if ("Deno" in globalThis) {
    globalThis.addEventListener("error", (event) => {
      event.preventDefault();
      report(event.error);
    });
  } else process.on("uncaughtException", report);
}

const server = new PuppetServer();
const source = createEventSource("http://server.test/", { fetch: server.fetch });
source.addEventListener("message", ({ data }) => {
  if (data === "1") throw new Error("on purpose");
});
const line = await server.line(1);
line.hello();
line.send(frame(1, "1"));
await new Promise<void>((resolve) => {
  source.addEventListener("message", ({ data }) => {
    console.log(`another listener: ${data}`);
    // Node reports in a later turn: the next event must not overtake it.
    setTimeout(() => data === "1" ? line.send(frame(2, "2")) : resolve(), 10);
  });
});
source.close();
console.log("done");
