/**
 * The conformance suite of journals: what every adapter must do, as cases that any test runner takes.
 *
 * It needs no test framework: a case rejects with a plain `Error` when an expectation was not met.
 * Each case makes a store of its own, so cases may run in any order, and side by side.
 *
 * @example
 * ```ts
 * import { journalCases } from "@tidemark/sse/journal/conformance";
 * import { createMemoryStore } from "@tidemark/sse/journal/memory";
 *
 * const cases = journalCases({
 *   openers: "many",
 *   makeStore() {
 *     const store = createMemoryStore();
 *     return Promise.resolve({
 *       open: ({ retention }) => Promise.resolve(store.open({ retention })),
 *       dispose: () => Promise.resolve(),
 *     });
 *   },
 * });
 * const first = cases[0];
 * await first?.run(); // In a test file: for (const { name, run } of cases) test(name, run);
 * ```
 *
 * @module
 */
import { appendCases } from "./conformance/append.ts";
import { Bench, type Draft, TELLS_MS } from "./conformance/bench.ts";
import { closeCases } from "./conformance/close.ts";
import { contentCases } from "./conformance/content.ts";
import { epochCases } from "./conformance/epoch.ts";
import { ensure, within } from "./conformance/expect.ts";
import { lossCases } from "./conformance/loss.ts";
import { readCases } from "./conformance/read.ts";
import { retentionCases } from "./conformance/retention.ts";
import { scheduleCases } from "./conformance/schedules.ts";
import type { JournalCase, JournalSubject } from "./conformance/subject.ts";
import { tailCases } from "./conformance/tail.ts";
import { tailEndCases } from "./conformance/tail_end.ts";

export type {
  Appended,
  Journal,
  JournalEntry,
  JournalEvent,
  JournalPage,
  JournalQuery,
  JournalRange,
  JournalWindow,
  TailOptions,
} from "./journal.ts";
export type { RetentionOptions } from "./retention.ts";
export type {
  JournalCase,
  JournalHook,
  JournalStore,
  JournalStoreCopy,
  JournalSubject,
} from "./conformance/subject.ts";

const DRAFTS: readonly Draft[] = [
  ...appendCases,
  ...contentCases,
  ...readCases,
  ...tailCases,
  ...tailEndCases,
  ...retentionCases,
  ...epochCases,
  ...closeCases,
  ...lossCases,
  ...scheduleCases,
];

/**
 * The cases that an implementation must pass.
 *
 * @param subject The implementation, and what its owner can do to a store.
 * @returns The cases, each with a name of its own. Those that the subject cannot be put through (a
 * hook is missing, there is only one opener) are not among them.
 */
export function journalCases(subject: JournalSubject): readonly JournalCase[] {
  const { hooks = [], openers } = subject;
  return DRAFTS
    .filter((draft) => draft.openers === undefined || draft.openers === openers)
    .filter((draft) => (draft.hooks ?? []).every((hook) => hooks.includes(hook)))
    .map((draft) => ({ name: draft.name, run: () => run(subject, draft) }));
}

/** What went wrong in the case comes before what went wrong in clearing up after it. */
async function run(subject: JournalSubject, { body, hooks = [] }: Draft): Promise<void> {
  const bench = new Bench(subject, await subject.makeStore());
  try {
    for (const hook of hooks) {
      ensure(
        bench.store[hook] !== undefined,
        `the store to have ${hook}(), which its subject names`,
      );
    }
    // Whatever never settles ends the case at last, with what it was about.
    await within(body(bench), 12 * bench.patienceMs + TELLS_MS, "the case to come to its end");
  } catch (error) {
    await bench.end().catch(() => {});
    throw error;
  }
  await bench.end();
}
