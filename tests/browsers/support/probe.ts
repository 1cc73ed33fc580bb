/**
 * A tab whose page offers `globalThis.probe`: its methods and fields, typed, from the test.
 *
 * @module
 */
import { eventually, type EventuallyOptions } from "../../support/poll.ts";
import type { Tab } from "./driver.ts";

/** What is passed to a method of a probe; nothing to a field. */
export type Arguments<M> = M extends (...args: infer A) => unknown ? A : [];

/** What a method or a field of a probe answers. */
export type Answer<M> = M extends (...args: never[]) => infer T ? Awaited<T> : M;

/** A tab whose page offers a probe. */
export interface ProbedTab<P> extends Tab {
  /**
   * Calls a method of the probe, or reads a field.
   *
   * @param name Its name.
   * @param args A method's arguments; they cross as JSON.
   * @returns The answer; it crosses as JSON.
   */
  ask<K extends keyof P & string>(name: K, ...args: Arguments<P[K]>): Promise<Answer<P[K]>>;
  /**
   * Asks for a field, or a method without arguments, until the answer holds.
   *
   * @param name Its name.
   * @param holds Says whether it does.
   * @param options What is waited for, and how long.
   * @returns The answer that held.
   * @throws {Error} At the deadline, with the last answer.
   */
  until<K extends keyof P & string>(
    name: K,
    holds: (answer: Answer<P[K]>) => unknown,
    options: EventuallyOptions,
  ): Promise<Answer<P[K]>>;
}

/**
 * Types a tab by its probe.
 *
 * @param tab The tab.
 * @returns It, with its probe.
 */
export function probedTab<P>(tab: Tab): ProbedTab<P> {
  const ask = async <K extends keyof P & string>(
    name: K,
    ...args: readonly unknown[]
  ): Promise<Answer<P[K]>> => {
    const answer: unknown = await tab.run(
      (member: string, values: readonly unknown[]) => {
        const { probe } = globalThis as unknown as { probe: Record<string, unknown> };
        const found = probe[member];
        return typeof found === "function" ? found.apply(probe, values) : found;
      },
      name,
      args,
    );
    // JSON has no types: the page's own say what it was.
    return answer as Answer<P[K]>;
  };
  return {
    ...tab,
    ask,
    async until(name, holds, options) {
      type Found = { readonly answer: Answer<P[typeof name]> };
      let last: unknown;
      const look = async (): Promise<Found | null> => {
        const answer = await ask(name);
        last = answer;
        return holds(answer) ? { answer } : null;
      };
      try {
        return (await eventually<Found | null>(look, { everyMs: 20, ...options })).answer;
      } catch (error) {
        const seen = JSON.stringify(last);
        throw new Error(`${String(error)}\n[${name}] ${seen}`, { cause: error });
      }
    },
  };
}
