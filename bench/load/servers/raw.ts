/** Node's `http` module and nothing else: each event is encoded once and written to each response. */
import { createServer, type ServerResponse } from "node:http";
import { loadFrame } from "../../fixtures.ts";
import { control } from "../control.ts";
import { Buffer } from "node:buffer";
import { portOf } from "../port.ts";

const clients = new Set<ServerResponse>();
const server = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.write("retry: 1500\n\n");
  clients.add(response);
  response.on("close", () => clients.delete(response));
});

server.listen(0, "127.0.0.1", () =>
  control({
    port: portOf(server.address()),
    publish(sequence, event) {
      const frame = Buffer.from(loadFrame(sequence, event));
      for (const response of clients) response.write(frame);
    },
    connections: () => clients.size,
  }));
