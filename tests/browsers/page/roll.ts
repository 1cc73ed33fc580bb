/**
 * A page with the browser's own `EventSource` and tickets, and a loop of its own around them, as the
 * documentation shows it.
 *
 * @module
 */
import { type Account, openAccount } from "../../support/roll_account.ts";

/** What the page offers as `globalThis.probe`. */
export interface RollProbe {
  /** What its sources went through. */
  readonly accounts: readonly Account[];
  /** Opens a source for each topic. */
  listen(topics: readonly string[]): void;
}

const BASE_MS = 500;
const CAP_MS = 30_000;
/** What a hub that leaves asks for, by `retry:` and `Retry-After`: no page is told the first. */
const LEAST_MS = 1000;

class Probe implements RollProbe {
  readonly accounts: Account[] = [];

  listen(topics: readonly string[]): void {
    for (const topic of topics) this.accounts.push(follow(topic));
  }
}

/** Keeps a stream of one topic, whatever becomes of each. */
function follow(topic: string): Account {
  const account = openAccount(topic);
  let cursor = "";
  let failures = 0;

  function again(): void {
    const step = Math.min(CAP_MS, BASE_MS * 2 ** failures++);
    setTimeout(open, Math.max(LEAST_MS, Math.random() * step));
  }

  async function open(): Promise<void> {
    account.attempts.push(Date.now());
    let ticket: string;
    try {
      ticket = await mint(topic);
    } catch (error) {
      account.failures.push(String(error));
      return again();
    }
    // A new source has no Last-Event-ID: the URL says where to go on.
    const source = new EventSource(
      `/events?${new URLSearchParams({ ticket, last_event_id: cursor })}`,
    );
    const keep = ({ lastEventId }: MessageEvent): void => void (cursor = lastEventId || cursor);
    let greeted = false;
    source.addEventListener("sse:hello", ({ data }) => {
      const { epoch, head, resumed, verdict } = JSON.parse(data);
      greeted = true;
      failures = 0;
      if (!resumed) cursor = `${epoch}:${head}`;
      account.hellos.push(Date.now());
      account.verdicts.push(verdict);
    });
    source.addEventListener("n", (event) => {
      account.seen.push(Number(event.data));
      keep(event);
    });
    source.addEventListener("sse:keepalive", keep);
    source.addEventListener("error", () => {
      // Left alone it would present a ticket that is used.
      source.close();
      if (greeted) account.ends.push(Date.now());
      else account.failures.push("no stream");
      again();
    });
  }

  void open();
  return account;
}

async function mint(topic: string): Promise<string> {
  const body = JSON.stringify({ topics: [topic] });
  const response = await fetch("/ticket", { method: "POST", body });
  if (!response.ok) throw new Error(`There is no ticket: ${response.status}`);
  return (await response.json()).ticket;
}

Object.assign(globalThis, { probe: new Probe() });
