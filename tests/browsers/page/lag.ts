/**
 * A page that reads a stream in two ways at once, by the browser's own `EventSource` and by the client,
 * and keeps what each got and what it was told that it did not get.
 *
 * @module
 */
import { createStream } from "../../../client.ts";

/** What one reader has to tell. */
export interface Account {
  /** The offsets of the events that it got, in the order in which they came. */
  readonly got: readonly number[];
  /** The notices: what was missed, and behind which event it was said. */
  readonly notices: readonly { readonly after: number; readonly missed: number | null }[];
  /** How many connections began. */
  readonly hellos: number;
  /** How many were lost. */
  readonly losses: number;
}

/** What the page offers as `globalThis.probe`. */
export interface LagProbe {
  /** Begins to read, in both ways. */
  listen(url: string): void;
  /** The browser's own source's, then the client's. */
  accounts(): readonly [Account, Account];
}

class Ledger implements Account {
  readonly got: number[] = [];
  readonly notices: { readonly after: number; readonly missed: number | null }[] = [];
  hellos = 0;
  losses = 0;

  /** An event came; what the fixture says to each connection has no id. */
  took(id: string | null): void {
    if (id !== null) this.got.push(Number(id.split(":")[1]));
  }

  missed(missed: number | null): void {
    this.notices.push({ after: this.got.at(-1) ?? 0, missed });
  }
}

class Probe implements LagProbe {
  readonly #ledgers = [new Ledger(), new Ledger()] as const;

  listen(url: string): void {
    const [native, ours] = this.#ledgers;
    const source = new EventSource(`${url}&lag=1`);
    const on = (type: string, take: (event: MessageEvent<string>) => void): void =>
      source.addEventListener(type, (event) => take(event as MessageEvent<string>));
    on("tick", ({ lastEventId }) => native.took(lastEventId));
    on("sse:hello", () => native.hellos++);
    on("sse:lag", ({ data }) => native.missed(JSON.parse(data).missed));
    source.onerror = () => native.losses++;
    createStream({
      url,
      onFrame: ({ id }) => ours.took(id),
      onLag: ({ missed }) => ours.missed(missed),
      onLifecycle({ kind }) {
        if (kind === "hello") ours.hellos++;
        if (kind === "disconnected") ours.losses++;
      },
    }).start();
  }

  accounts(): readonly [Account, Account] {
    return this.#ledgers;
  }
}

Object.assign(globalThis, { probe: new Probe() });
