/**
 * Ports of this machine, on every runtime.
 *
 * @module
 */
import { createServer } from "node:net";

/** A port of 127.0.0.1 on which nobody listens now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("Cannot find a free port");
  return address.port;
}
