/**
 * What a stream in a worker presents: its address and its headers, which only a page may know.
 *
 * @module
 */
import { RefusedError } from "../../errors.ts";
import type { HeadersSource, StreamUrl } from "../types.ts";
import type { PlainHeaders, Want } from "./protocol.ts";
import type { Questions } from "./questions.ts";
import type { Tab } from "./tab.ts";
import type { WorkerHostOptions } from "./types.ts";

/** How long a tab has to answer, in milliseconds. */
const ANSWER_MS = 5000;

/** What a host's stream presents. */
export interface Credentials {
  /**
   * The stream's address.
   *
   * @param fixed What a tab says it always is; `null` when the tabs are to be asked each time.
   */
  url(fixed: string | null): StreamUrl;
  /** The stream's headers. */
  readonly headers: HeadersSource;
  /**
   * Presents another tag.
   *
   * @param tag The tag; `""` changes nothing.
   * @returns Whether it is another one than before.
   */
  retag(tag: string): boolean;
}

/**
 * Makes the credentials of one host.
 *
 * @param own The host's options: what they say is not asked for.
 * @param tabs The attached tabs.
 * @param questions What asks them.
 * @returns The credentials.
 */
export function createCredentials(
  own: WorkerHostOptions,
  tabs: ReadonlyMap<string, Tab>,
  questions: Questions,
): Credentials {
  let tag = "";
  /** Asks one tab after another, the visible ones first. */
  const ask = async (
    want: Want,
    attempt = 0,
    signal?: AbortSignal,
  ): Promise<string | PlainHeaders> => {
    const tried = new Set<Tab>();
    for (;;) {
      const left = [...tabs.values()].filter((tab) => !tried.has(tab));
      const tab = left.find(({ visible }) => visible) ?? left[0];
      if (tab === undefined) throw new Error(`No tab brought the stream's ${want}`);
      tried.add(tab);
      const question = (ask: number) => ({ kind: "ask", ask, want, attempt }) as const;
      const answer = await questions.ask([tab], question, signal, ANSWER_MS);
      signal?.throwIfAborted();
      if (answer?.fault === "refused") throw new RefusedError("a tab says so");
      if (answer !== null && answer.value !== null) return answer.value;
    }
  };
  return {
    url: (fixed) =>
      own.url ?? fixed ??
        (async ({ attempt, signal }) => String(await ask("url", attempt, signal))),
    async headers() {
      const { headers } = own;
      const plain = headers === undefined
        // The protocol lets nothing else through for this question.
        ? await ask("headers") as PlainHeaders
        : typeof headers === "function"
        ? await headers()
        : headers;
      return tag === "" ? plain : { ...plain, "SSE-Client": tag };
    },
    retag(next) {
      if (next === "" || next === tag) return false;
      tag = next;
      return true;
    },
  };
}
