/**
 * Whether anybody sees the page, as the document says. Inert where there is no document.
 *
 * @module
 */
import { listen, type Listenable } from "./listen.ts";
import type { VisibilitySource } from "./types.ts";

/** The part of a page's global scope that is used: a worker's has no `document`. */
interface PageScope extends Listenable {
  readonly document?: EventTarget & { readonly visibilityState: string };
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
      const leaveDocument = listen(document, {
        visibilitychange: () => listener(hidden() ? "hidden" : "visible"),
        // Bytes that reach a frozen page may be lost to it: Chromium's stream then never goes on.
        freeze: () => listener("pagehide"),
        resume() {
          listener("visible");
          // A page may be thawed while nobody sees it: the limit of a hidden one starts anew.
          if (hidden()) listener("hidden");
        },
      });
      const leaveScope = listen(scope, {
        pagehide() {
          left = true;
          listener("pagehide");
        },
        pageshow(event: Event & { readonly persisted?: boolean }) {
          // Every page is shown once as it loads: nothing has come back then. A browser that returns
          // to a page does not always say that it was `persisted`.
          if (left || event.persisted) listener("pageshow");
          left = false;
        },
      });
      return () => {
        leaveDocument();
        leaveScope();
      };
    },
  };
}
