/**
 * The port of a server that listens.
 *
 * @module
 */

/**
 * Reads the port out of a Node server's address.
 *
 * @param address What `server.address()` returned.
 * @returns The port.
 * @throws {Error} When the server does not listen on TCP.
 */
export function portOf(address: unknown): number {
  const port = (address as { port?: unknown } | null)?.port;
  if (typeof port !== "number") throw new Error("the server listens on no TCP port");
  return port;
}
