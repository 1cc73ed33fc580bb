/**
 * The conformance suite of relays: what every adapter must do, as cases that any test runner takes.
 *
 * It needs no test framework: a case rejects with a plain `Error` when an expectation was not met.
 * Each case makes audiences of its own, so cases may run in any order, and side by side.
 *
 * @example
 * ```ts
 * import { relayCases } from "@tidemark/sse/relay/conformance";
 * import { createMemoryRelayBus } from "@tidemark/sse/relay/memory";
 *
 * const cases = relayCases({
 *   makeAudience() {
 *     const bus = createMemoryRelayBus();
 *     return Promise.resolve({
 *       connect: () => Promise.resolve(bus.connect()),
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
import { Bench, type Draft } from "./conformance/bench.ts";
import { closingCases } from "./conformance/closing.ts";
import { contentCases } from "./conformance/content.ts";
import { deliveryCases } from "./conformance/delivery.ts";
import { interruptionCases } from "./conformance/interruption.ts";
import { listeningCases } from "./conformance/listening.ts";
import type { RelayCase, RelaySubject } from "./conformance/subject.ts";

export type { RelayAudience, RelayCase, RelayHook, RelaySubject } from "./conformance/subject.ts";
export type { Relay, RelayListener, RelaySubscription } from "./relay.ts";

const DRAFTS: readonly Draft[] = [
  ...deliveryCases,
  ...contentCases,
  ...listeningCases,
  ...closingCases,
  ...interruptionCases,
];

/**
 * The cases that an implementation must pass.
 *
 * @param subject The implementation, and what its owner can do to a broker.
 * @returns The cases, each with a name of its own. Those that need a hook which the subject does not
 * name are not among them.
 */
export function relayCases(subject: RelaySubject): readonly RelayCase[] {
  const { hooks = [] } = subject;
  return DRAFTS
    .filter((draft) => (draft.hooks ?? []).every((hook) => hooks.includes(hook)))
    .map(({ name, body }) => ({ name, run: () => run(new Bench(subject), body) }));
}

/** What went wrong in the case comes before what went wrong in clearing up after it. */
async function run(bench: Bench, body: Draft["body"]): Promise<void> {
  try {
    await body(bench);
  } catch (error) {
    await bench.end().catch(() => {});
    throw error;
  }
  await bench.end();
}
