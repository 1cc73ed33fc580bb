/**
 * Real sockets for the tests of the Node adapter.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type RequestOptions } from "node:http";
import { connect, type Socket } from "node:net";
import { type NodeHandlerOptions, toNodeHandler } from "../../../src/adapters/node.ts";
import type { FetchHandler } from "../../../src/adapters/server.ts";

/** A server of `node:http` on a free port. */
export interface TestServer {
  /** Its port. */
  readonly port: number;
  /** What it logged. */
  readonly logged: readonly string[];
}

/**
 * Serves a handler while a test runs.
 *
 * @param handler What answers.
 * @param body The test; the server and its sockets are gone when it has returned.
 * @param options Options of the adapter.
 */
export async function serving(
  handler: FetchHandler,
  body: (server: TestServer) => Promise<void>,
  options: NodeHandlerOptions = {},
): Promise<void> {
  const logged: string[] = [];
  const logger = { error: (message: string) => void logged.push(message) };
  const server = createServer(toNodeHandler(handler, { logger, ...options }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It listens on a port");
  try {
    await body({ port: address.port, logged });
  } finally {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }
}

/** Asks for a path and gives the response when its head is there. */
export async function ask(port: number, options: RequestOptions = {}): Promise<IncomingMessage> {
  const request = get({ port, host: "127.0.0.1", agent: false, ...options });
  const [response] = await once(request, "response") as [IncomingMessage];
  return response;
}

/** Reads a response to its end. */
export async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response) text += chunk;
  return text;
}

/** Sends bytes as they are, and reads until the server closes. */
export async function raw(port: number, request: string): Promise<string> {
  const socket = await open(port);
  socket.write(request);
  let text = "";
  for await (const chunk of socket) text += chunk;
  return text;
}

/** Opens a socket. */
export async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.setEncoding("latin1");
  return socket;
}
