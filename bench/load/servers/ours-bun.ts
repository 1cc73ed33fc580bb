/** Our hub on Bun, through its adapter. */
import { serveBun } from "../../../src/adapters/bun.ts";
import { controlHub, hub } from "./ours.ts";

const server = await serveBun(hub.handler, { hub, port: 0, hostname: "127.0.0.1" });
controlHub(server.port);
