/**
 * What a host wants of tabs: one question to some of them, over when each has answered or is gone.
 *
 * @module
 */
import type { ClientClock } from "../types.ts";
import type { ToHost, ToTab } from "./protocol.ts";
import type { Tab } from "./tab.ts";

/** A tab's answer. */
export type Answer = Extract<ToHost, { readonly kind: "answer" }>;

/** The questions of one host. */
export interface Questions {
  /**
   * Asks.
   *
   * @param tabs Whom.
   * @param message Makes the question of its number.
   * @param signal Gives it up.
   * @param timeoutMs How long the tabs have; for ever.
   * @returns The last answer, when every tab has answered, or is gone, or it was given up; `null` when
   * there was none.
   */
  ask(
    tabs: Iterable<Tab>,
    message: (ask: number) => ToTab,
    signal?: AbortSignal,
    timeoutMs?: number,
  ): Promise<Answer | null>;
  /** Takes an answer. */
  answered(tab: Tab, answer: Answer): void;
  /** A tab is gone, and answers no more. */
  left(tab: Tab): void;
}

/**
 * Makes the questions of one host.
 *
 * @param clock For how long to wait.
 * @returns They.
 */
export function createQuestions(clock: ClientClock): Questions {
  const open = new Map<number, (tab: Tab, answer: Answer | null) => void>();
  let asks = 0;
  return {
    async ask(tabs, message, signal, timeoutMs) {
      const ask = ++asks;
      const waiting = new Set(tabs);
      let last: Answer | null = null;
      let over = (): void => {};
      const ended = new Promise<void>((resolve) => over = resolve);
      open.set(ask, (tab, answer) => {
        if (!waiting.delete(tab)) return;
        last = answer ?? last;
        if (waiting.size === 0) over();
      });
      signal?.addEventListener("abort", over);
      const cancel = timeoutMs === undefined ? undefined : clock.after(timeoutMs, over);
      for (const { send } of waiting) send(message(ask));
      if (waiting.size === 0 || signal?.aborted) over();
      await ended;
      cancel?.();
      signal?.removeEventListener("abort", over);
      open.delete(ask);
      for (const { send } of waiting) send({ kind: "abort", ask });
      return last;
    },
    answered: (tab, answer) => open.get(answer.ask)?.(tab, answer),
    left: (tab) => open.forEach((take) => take(tab, null)),
  };
}
