/**
 * A hub at default options, served as the documentation says, on Bun.
 *
 * Bun itself serves what a program's default export holds, and says where.
 *
 * @module
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { createHub } from "../../../src/hub/hub.ts";

const hub = createHub();

createInterface({ input: process.stdin })
  .on("line", (data) => hub.publish({ data }))
  // Who started this has gone.
  .on("close", () => process.exit());

const server: {
  readonly hostname: string;
  readonly port: number;
  readonly fetch: typeof hub.handler;
} = { hostname: "127.0.0.1", port: 0, fetch: hub.handler };

export default server;
