/**
 * One stream for all tabs of a profile: the tab's half.
 *
 * @module
 */
import { openStream } from "./stream.ts";
import { attach, type TabScope } from "./tabs/attachment.ts";
import type { ChannelLike } from "./tabs/channel.ts";
import type { LockManagerLike } from "./tabs/lock.ts";
import type { TabAttachment, TabOptions } from "./tabs/types.ts";

export type {
  MessagePortLike,
  SharedWorkerLike,
  TabAttachment,
  TabMode,
  TabOptions,
  TabRevalidateContext,
} from "./tabs/types.ts";

/** The part of a page's global scope that is used: a worker's has not all of it. */
interface PageScope {
  readonly navigator?: { readonly locks?: LockManagerLike };
  readonly BroadcastChannel?: new (name: string) => ChannelLike;
}

/**
 * Attaches this tab to its profile's one stream: that of the worker which {@linkcode
 * TabOptions.worker} starts, or of one tab that all tabs elect where there is no worker, or of this
 * tab alone where there can be no election either.
 *
 * It leaves when the page is left or frozen, and comes back with it: a page in the back-forward cache
 * is thrown out of it by a message.
 *
 * @param options Where the stream is, and who hears of it.
 * @returns The attachment. It begins at once.
 * @throws {ConfigError} When a time is out of its bounds.
 *
 * @example
 * ```ts no-run
 * import { attachToWorker } from "@tidemark/sse/tabs";
 *
 * const tab = attachToWorker({
 *   worker: () => new SharedWorker("/worker.js", { type: "module" }),
 *   url: "/events",
 *   onFrame: ({ type, data }) => console.log(type, JSON.parse(data)),
 *   revalidate: async ({ signal }) => console.log(await (await fetch("/state", { signal })).json()),
 *   onLifecycle: (record) => console.debug(record),
 * });
 * document.querySelector("#logout")?.addEventListener("click", () => tab.detach("logout"));
 * ```
 */
export function attachToWorker(options: TabOptions): TabAttachment {
  return attach(options, pageScope(globalThis as PageScope));
}

function pageScope({ navigator, BroadcastChannel }: PageScope): TabScope {
  const locks = navigator?.locks;
  return {
    makeStream: openStream,
    election: locks === undefined || BroadcastChannel === undefined ? null : {
      locks,
      openChannel: (name) => new BroadcastChannel(name),
      wall: () => Date.now(),
    },
  };
}
