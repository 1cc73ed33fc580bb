/**
 * Whether there is a network, as the platform says. Where it does not say, there always is one.
 *
 * @module
 */
import type { OnlineSource } from "./types.ts";

/** The part of a global scope that is used. */
interface NetworkScope {
  readonly navigator?: { readonly onLine?: boolean };
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
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
    subscribe(listener) {
      const up = (): void => listener(true);
      const down = (): void => listener(false);
      scope.addEventListener?.("online", up);
      scope.addEventListener?.("offline", down);
      return () => {
        scope.removeEventListener?.("online", up);
        scope.removeEventListener?.("offline", down);
      };
    },
  };
}
