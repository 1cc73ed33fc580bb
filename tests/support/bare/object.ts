/**
 * A hub at default options, served as the documentation says, in a Durable Object.
 *
 * @module
 */
import { createHub } from "../../../src/hub/hub.ts";
import type { FixtureNamespace } from "../../../src/testing/fixture/worker.ts";

const front: { fetch(request: Request, env: { HUB: FixtureNamespace }): Promise<Response> } = {
  fetch: (request, env) => env.HUB.get(env.HUB.idFromName("hub")).fetch(request),
};

export default front;

/** The object. */
export class HubObject {
  readonly #hub = createHub();

  /** Answers a request; a POST to `/publish` is the launcher's. */
  fetch(request: Request): Response | Promise<Response> {
    return request.url.endsWith("/publish") ? this.#publish(request) : this.#hub.handler(request);
  }

  async #publish(request: Request): Promise<Response> {
    this.#hub.publish({ data: await request.text() });
    return new Response(null, { status: 204 });
  }
}
