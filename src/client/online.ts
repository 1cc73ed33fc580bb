/**
 * Whether there is a network, as the platform says. Where it does not say, there always is one.
 *
 * @module
 */
import { listen, type Listenable } from "./listen.ts";
import type { OnlineSource } from "./types.ts";

/** The part of a global scope that is used. */
interface NetworkScope extends Listenable {
  readonly navigator?: { readonly onLine?: boolean };
}

/**
 * Reads `navigator.onLine`, `online` and `offline`.
 *
 * @param scope The global scope of a page or a worker.
 * @returns The source.
 */
export function platformOnline(scope: NetworkScope = globalThis as NetworkScope): OnlineSource {
  return {
    online: () => scope.navigator?.onLine !== false,
    subscribe: (listener) =>
      listen(scope, { online: () => listener(true), offline: () => listener(false) }),
  };
}
