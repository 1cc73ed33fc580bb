/**
 * The service around the demo's hub: streams, tickets, acknowledgements, publishing with a key, presence,
 * metrics and health. The page uses `/events` and `/alive`; the rest is there for curl.
 *
 * @module
 */
import type { Hub, JournaledHub } from "@tidemark/sse";
import { createService, type Service } from "@tidemark/sse/service";
import { createMemoryTicketStore, createTickets } from "@tidemark/sse/tickets";
import { TOPICS } from "./counters.ts";
import { type Feed, STATUS_TOPIC, turn } from "./feed.ts";

const ALL: readonly string[] = [...TOPICS, STATUS_TOPIC];

/** Everybody is let in here: who it is says the tag of the page's own making. */
function identify(request: Request): { user: string; account: "some" | "all" } {
  // A stream that names no topic has them all; so the topics are bound, not asked for.
  const account = new URL(request.url).searchParams.has("topic") ? "some" : "all";
  return { user: request.headers.get("SSE-Client") || "visitor", account };
}

/** The service of whichever hub serves now: a restart brings another one. */
export class DemoService {
  readonly #feed: Feed;
  readonly #key: string | undefined;
  readonly #tickets = createTickets({ store: createMemoryTicketStore() });
  #made: { readonly hub: Hub | JournaledHub; readonly service: Service } | undefined;

  /**
   * @param feed What is published.
   * @param key Who may publish and see the counters; nobody without one.
   */
  constructor(feed: Feed, key: string | undefined) {
    this.#feed = feed;
    this.#key = key;
    // A key that could not be sent is refused now, not at the first request.
    this.#service();
  }

  /**
   * Answers a request for anything but the page's files and buttons.
   *
   * @param request The request.
   * @param host What Deno says about it; the hub uses it to know when a goodbye has been sent.
   */
  async fetch(request: Request, host: unknown): Promise<Response> {
    await this.#feed.ready();
    return await this.#service().fetch(request, host);
  }

  #service(): Service {
    const { hub } = this.#feed;
    if (this.#made?.hub !== hub) this.#made = { hub, service: this.#make(hub) };
    return this.#made.service;
  }

  #make(hub: Hub | JournaledHub): Service {
    const access = this.#key === undefined ? undefined : { keys: this.#key };
    return createService({
      hub,
      tickets: this.#tickets,
      identify,
      authorize: ({ topic }) => ALL.includes(topic),
      boundTopics: ({ account }) => account === "all" ? ALL : [],
      stream: () => ({
        onConnect: async (writer) => {
          await turn();
          await writer.event(STATUS_TOPIC, this.#feed.status());
        },
      }),
      ...(access && { publish: access, presence: access, metrics: access }),
    });
  }
}
