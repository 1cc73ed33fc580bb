/** Our hub on Deno, through its adapter. */
import { serveDeno } from "../../../src/adapters/deno.ts";
import { controlHub, hub } from "./ours.ts";

const server = await serveDeno(hub.handler, { hub, port: 0, hostname: "127.0.0.1" });
controlHub(server.port);
