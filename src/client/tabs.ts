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
  readonly document?: EventTarget;
}

/**
 * Attaches this tab to its profile's one stream.
 *
 * @param options Where the stream is, and who hears of it.
 * @returns The attachment. It begins at once.
 * @throws {ConfigError} When a time is out of its bounds.
 */
export function attachToWorker(options: TabOptions): TabAttachment {
  return attach(options, pageScope(globalThis as PageScope));
}

function pageScope({ navigator, BroadcastChannel, document }: PageScope): TabScope {
  const locks = navigator?.locks;
  return {
    makeStream: openStream,
    election: locks === undefined || BroadcastChannel === undefined ? null : {
      locks,
      openChannel: (name) => new BroadcastChannel(name),
      wall: () => Date.now(),
    },
    onFreeze(listener) {
      const freeze = (): void => listener(true);
      const resume = (): void => listener(false);
      document?.addEventListener("freeze", freeze);
      document?.addEventListener("resume", resume);
      return () => {
        document?.removeEventListener("freeze", freeze);
        document?.removeEventListener("resume", resume);
      };
    },
  };
}
