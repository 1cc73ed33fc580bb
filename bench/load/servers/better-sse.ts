/**
 * better-sse as its documentation shows it: one channel, one session per client, an object to
 * broadcast. Its keepalives are off, which is in its favour.
 */
import { createChannel, createSession } from "better-sse";
import { createServer } from "node:http";
import { EPOCH } from "../../fixtures.ts";
import { control } from "../control.ts";
import { portOf } from "../port.ts";

const channel = createChannel();
const server = createServer(async (request, response) => {
  channel.register(await createSession(request, response, { keepAlive: null }));
});

server.listen(0, "127.0.0.1", () =>
  control({
    port: portOf(server.address()),
    publish(sequence, event) {
      // The data is JSON, so that the object comes out on the wire as everybody else's data does.
      const payload: unknown = JSON.parse(event.data);
      channel.broadcast(payload, event.name, { eventId: `${EPOCH}:${sequence}` });
    },
    connections: () => channel.sessionCount,
  }));
