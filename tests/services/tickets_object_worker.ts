/**
 * A Worker whose objects keep tickets: `GET /suite` runs the suite of all stores in one object and
 * answers with what failed; `POST /mint` and `POST /redeem` ask an object that stays.
 *
 * @module
 */
import { ticketStoreCases } from "../../src/tickets/conformance.ts";
import {
  createDurableObjectTicketStore,
  createTickets,
  type Tickets,
  type TicketStorage,
} from "../../src/tickets/tickets.ts";

interface Namespace {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

const front: { fetch(request: Request, env: { TICKETS: Namespace }): Promise<Response> } = {
  fetch(request, { TICKETS }) {
    const name = new URL(request.url).pathname === "/suite" ? "suite" : "kept";
    return TICKETS.get(TICKETS.idFromName(name)).fetch(request);
  },
};

export default front;

/** The object. */
export class TicketObject {
  readonly #storage: TicketStorage;
  readonly #tickets: Tickets;

  constructor(ctx: { readonly storage: TicketStorage }) {
    this.#storage = ctx.storage;
    this.#tickets = createTickets({ store: createDurableObjectTicketStore(ctx.storage) });
  }

  /** Runs the suite, or mints or redeems a ticket. */
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/suite") return Response.json(await this.#suite());
    if (pathname === "/mint") {
      return new Response(await this.#tickets.mint({ user: "ada", topics: ["orders"] }));
    }
    const redeemed = await this.#tickets.redeem(await request.text());
    return Response.json(redeemed?.claims ?? null);
  }

  async #suite(): Promise<{ readonly cases: number; readonly failed: readonly string[] }> {
    const stores = () => createDurableObjectTicketStore(this.#storage);
    const cases = ticketStoreCases(() =>
      Promise.resolve({ stores: [stores(), stores()], close: () => Promise.resolve() })
    );
    const failed: string[] = [];
    for (const { name, run } of cases) {
      await run().catch((error) => failed.push(`${name}: ${error}`));
    }
    return { cases: cases.length, failed };
  }
}
