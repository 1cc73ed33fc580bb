/**
 * The journal in memory, as the conformance suite takes it.
 *
 * @module
 */
import type { JournalSubject } from "../../../src/journal/conformance.ts";
import { createMemoryStore } from "../../../src/journal/memory.ts";

/** Many openers of one store, and no way to lose what it holds. */
export const memorySubject: JournalSubject = {
  openers: "many",
  makeStore() {
    const store = createMemoryStore();
    return Promise.resolve({
      open: (options) => Promise.resolve(store.open(options)),
      dispose: () => Promise.resolve(),
    });
  },
};
