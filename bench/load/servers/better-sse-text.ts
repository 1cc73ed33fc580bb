/**
 * better-sse with data that is text already and is sent as it is, by a serializer that does nothing:
 * the least it can cost, since by default it serializes each event anew for each session.
 */
import { createChannel, createSession } from "better-sse";
import { createServer } from "node:http";
import { EPOCH } from "../../fixtures.ts";
import { control } from "../control.ts";
import { portOf } from "../port.ts";

const channel = createChannel();
const server = createServer(async (request, response) => {
  const session = await createSession(request, response, { keepAlive: null, serializer: String });
  channel.register(session);
});

server.listen(0, "127.0.0.1", () =>
  control({
    port: portOf(server.address()),
    publish(sequence, event) {
      channel.broadcast(event.data, event.name, { eventId: `${EPOCH}:${sequence}` });
    },
    connections: () => channel.sessionCount,
  }));
