/**
 * Ports of this machine, on every runtime.
 *
 * @module
 */
import { createServer } from "node:net";

/**
 * Below the ports that systems give to outgoing connections: one of those might take the port of a
 * server that has not started yet, or is down for a moment.
 */
const FIRST = 20_000;
const LAST = 32_000;
const ATTEMPTS = 100;

/** A port of 127.0.0.1 on which nobody listens now, picked at random: other tests look for one, too. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (await isFree(port)) return port;
  }
  throw new Error(`Cannot find a free port from ${FIRST} to ${LAST}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}
