/**
 * A stream over the hop, from the Worker's side.
 *
 * @module
 */
import { systemClock } from "../../../hub/clock.ts";
import { STREAM_HEADERS } from "../../../hub/stream_request.ts";
import { describe, type ErrorLogger } from "../../server.ts";
import { hopRequest } from "../door.ts";
import { askHubObject, type HubNamespace, routeToHub, withoutFault } from "../worker.ts";
import type { Answer, LineSocket } from "./dial.ts";
import { HopLine } from "./line.ts";
import type { Resume } from "./wire.ts";

/** What an upgraded response has beside the Web's own. */
interface Upgraded {
  readonly webSocket?: LineSocket | null;
}

/**
 * Sends a client's request for a stream to its hub, and holds the stream here: the object may sleep
 * while its clients are connected, and its time is not billed then.
 *
 * {@linkcode routeToHub} leaves the stream to the object, which it keeps awake. Here the Worker holds
 * it, and a WebSocket that can hibernate leads to the object. The Worker writes the keepalives. When
 * the object is reset, by a deploy say, the client's stream stays open: the Worker comes back to the
 * object within 30 s, and goes on after the last offset that it had. What cannot be made good so is
 * told: `sse:reset`, and the client comes back to be judged anew. A client that takes nothing holds at
 * most 256 KiB and one frame.
 *
 * An object without a journal has nothing to wake up with: it serves the stream as it is.
 *
 * @param namespace The binding.
 * @param name Which hub: a room, a tenant.
 * @param request The client's request, authorized by you. The object sees it as it is.
 * @param logger Where an unreachable object is logged; `console`.
 * @returns The stream, or a refusal.
 *
 * @example
 * ```ts no-run
 * import { type HubNamespace, hubObject, streamThroughHop } from "@tidemark/sse/cloudflare";
 *
 * export const Room = hubObject();
 *
 * const worker = {
 *   fetch(request: Request, env: { ROOM: HubNamespace }): Promise<Response> {
 *     return streamThroughHop(env.ROOM, "lobby", request);
 *   },
 * };
 * export default worker;
 * ```
 */
export async function streamThroughHop<Id>(
  namespace: HubNamespace<Id>,
  name: string,
  request: Request,
  logger: ErrorLogger = console,
): Promise<Response> {
  if (request.method !== "GET") return await routeToHub(namespace, name, request, logger);
  const ask = (resume: Resume | null): Promise<Response> =>
    askHubObject(namespace, name, hopRequest(request, resume));
  let response: Response & Upgraded;
  try {
    response = await ask(null);
  } catch (error) {
    return withoutFault(name, request, logger, describe(error));
  }
  const { webSocket } = response;
  if (webSocket === undefined || webSocket === null) {
    return await withoutFault(name, request, logger, response);
  }
  const line = new HopLine(webSocket, (resume) => dial(ask, resume), systemClock);
  request.signal?.addEventListener("abort", () => line.leave(), { once: true });
  return new Response(line.stream, { headers: STREAM_HEADERS });
}

async function dial(
  ask: (resume: Resume) => Promise<Response & Upgraded>,
  resume: Resume,
): Promise<Answer> {
  try {
    const { status, webSocket, body } = await ask(resume);
    if (webSocket !== undefined && webSocket !== null) return webSocket;
    await body?.cancel();
    return status >= 500 ? null : "gone";
  } catch {
    // It is being reset: the next attempt finds another one.
    return null;
  }
}
