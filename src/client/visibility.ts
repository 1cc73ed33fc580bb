/**
 * Whether anybody sees the page, as the document says. Inert where there is no document.
 *
 * @module
 */
import type { VisibilitySignal, VisibilitySource } from "./types.ts";

/** The part of a page's global scope that is used: a worker's has no `document`. */
interface PageScope {
  readonly document?: EventTarget & { readonly visibilityState: string };
  addEventListener?(type: string, listener: (event: Event) => void): void;
  removeEventListener?(type: string, listener: (event: Event) => void): void;
}

/**
 * Reads `visibilitychange`, `freeze` and `resume`, `pagehide` and `pageshow`.
 *
 * @param scope The global scope.
 * @returns The source; without a document the page counts as visible for ever.
 */
export function documentVisibility(scope: PageScope = globalThis): VisibilitySource {
  const { document } = scope;
  if (document === undefined) return { hidden: () => false, subscribe: () => () => {} };
  const hidden = (): boolean => document.visibilityState === "hidden";
  return {
    hidden,
    subscribe(listener) {
      let left = false;
      const say = (signal: VisibilitySignal) => () => listener(signal);
      const changed = (): void => listener(hidden() ? "hidden" : "visible");
      const resumed = (): void => {
        listener("visible");
        // A page may be thawed while nobody sees it: the limit of a hidden one starts anew.
        if (hidden()) listener("hidden");
      };
      const hide = (): void => {
        left = true;
        listener("pagehide");
      };
      const show = (event: Event): void => {
        // Every page is shown once as it loads: nothing has come back then. A browser that returns to
        // a page does not always say that it was `persisted`.
        if (left || (event as Event & { readonly persisted?: boolean }).persisted) {
          listener("pageshow");
        }
        left = false;
      };
      const onDocument: [string, (event: Event) => void][] = [
        ["visibilitychange", changed],
        // Bytes that reach a frozen page may be lost to it: Chromium's stream then never goes on.
        ["freeze", say("pagehide")],
        ["resume", resumed],
      ];
      const onWindow: [string, (event: Event) => void][] = [["pagehide", hide], ["pageshow", show]];
      for (const [type, heard] of onDocument) document.addEventListener(type, heard);
      for (const [type, heard] of onWindow) scope.addEventListener?.(type, heard);
      return () => {
        for (const [type, heard] of onDocument) document.removeEventListener(type, heard);
        for (const [type, heard] of onWindow) scope.removeEventListener?.(type, heard);
      };
    },
  };
}
