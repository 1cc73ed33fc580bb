/** Our hub on Node: the adapter writes straight to Node's response. */
import { serveNode } from "../../../src/adapters/node.ts";
import { controlHub, hub } from "./ours.ts";

const server = await serveNode(hub.handler, { hub, port: 0, hostname: "127.0.0.1" });
controlHub(server.port);
