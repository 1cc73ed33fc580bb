/**
 * Our client, with tickets, keeping an account. Runs under Deno.
 *
 * @module
 */
import { createStream } from "../../src/client/stream.ts";
import type { Fetch, Stream } from "../../src/client/types.ts";
import { type Account, openAccount } from "./roll_account.ts";

/** A client whose times are all the defaults: what an application has that sets none. */
export class RollClient {
  /** What it went through. */
  readonly account: Account;
  readonly #stream: Stream;
  /** Connections of its own, as a machine of its own has: shared ones would hide who lost one. */
  readonly #http = Deno.createHttpClient({});

  /**
   * Connects.
   *
   * @param url Where the balancer is.
   * @param topic What to listen to.
   */
  constructor(url: string, topic: string) {
    const account = this.account = openAccount(topic);
    const ask: Fetch = (input, init) => {
      const own: RequestInit & { client: Deno.HttpClient } = { ...init, client: this.#http };
      return fetch(input, own);
    };
    this.#stream = createStream({
      fetch: ask,
      url: async ({ signal }) => {
        const body = JSON.stringify({ topics: [topic] });
        const response = await ask(`${url}/ticket`, { method: "POST", body, signal });
        if (!response.ok) {
          await response.body?.cancel();
          throw new Error(`There is no ticket: ${response.status}`);
        }
        return `${url}/events?ticket=${(await response.json()).ticket}`;
      },
      onFrame({ type, data }) {
        if (type === "n") account.seen.push(Number(data));
      },
      onLifecycle(record) {
        switch (record.kind) {
          case "state":
            if (record.to === "connecting") account.attempts.push(Date.now());
            return;
          case "hello":
            account.hellos.push(Date.now());
            account.verdicts.push(record.verdict);
            return;
          case "disconnected":
            account.ends.push(Date.now());
            return;
          case "connect_failed":
            account.failures.push(`${record.reason}: ${record.detail}`);
        }
      },
    });
    this.#stream.start();
  }

  /** Ends it. */
  stop(): void {
    this.#stream.stop();
    this.#http.close();
  }
}
