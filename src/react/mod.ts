/**
 * Hooks for React, made of the React that you hand in: this file imports none.
 *
 * @example A file of your own, once
 * ```ts ignore
 * "use client";
 * import * as React from "react";
 * import { createHooks } from "@tidemark/sse/react";
 *
 * export const { useStream, useFrames, useStreamState } = createHooks(React);
 * ```
 *
 * @example A component
 * ```ts ignore
 * function Room({ name }) {
 *   const room = useStream({
 *     url: `/events?topic=${name}`,
 *     initial: [],
 *     reduce: (lines, frame) => [...lines, frame.data],
 *     revalidate: async ({ signal }) => (await fetch(`/rooms/${name}`, { signal })).json(),
 *   });
 *   const lines = useFrames(room);
 *   const state = useStreamState(room);
 *   return createElement("pre", { className: state }, lines.join("\n"));
 * }
 * ```
 *
 * @module
 */
import {
  createStore,
  keyOf,
  type OwnedStore,
  type StreamStore,
  type UseStreamOptions,
} from "./store.ts";
import type { StreamState } from "../client/types.ts";

export type { StreamStore, UseStreamOptions };

/** The part of React, from version 18 on, that the hooks are made of. */
export interface ReactLike {
  /** `React.useState`. */
  useState<T>(initial: () => T): readonly [T, (next: T) => void];
  /** `React.useEffect`. */
  useEffect(effect: () => void | (() => void), deps?: readonly unknown[]): void;
  /** `React.useSyncExternalStore`. */
  useSyncExternalStore<T>(
    subscribe: (onChange: () => void) => () => void,
    read: () => T,
    readOnServer?: () => T,
  ): T;
}

/** What {@linkcode createHooks} makes. */
export interface Hooks {
  /**
   * Holds a stream while the component is mounted. It renders nothing anew by itself: hand what it
   * returns to the other two hooks, here or in a component below.
   *
   * The functions of the newest render are called, and its headers sent. Everything else counts as
   * it was at first; when `url`, or `key`, changes, another stream with a state of its own begins.
   * On a server nothing is connected.
   *
   * @param options The stream's, and what becomes of its frames.
   * @returns The stream and its state.
   * @throws {ConfigError} When an option is out of bounds.
   */
  useStream<S>(options: UseStreamOptions<S>): StreamStore<S>;
  /**
   * Reads what the frames were reduced to, and renders anew when it changes.
   *
   * @param store What `useStream` returned.
   * @returns The state; on a server and while a page is hydrated `initial`.
   */
  useFrames<S>(store: StreamStore<S>): S;
  /**
   * Reads where the stream stands, and renders anew when it changes.
   *
   * @param store What `useStream` returned.
   * @returns `open`, `backoff` and so on; on a server and while a page is hydrated `stopped`.
   */
  useStreamState(store: StreamStore<unknown>): StreamState;
}

/**
 * Makes the hooks. Call it once, in a module of your own, and import them from there.
 *
 * @param react React itself, or the three of its functions.
 * @returns The hooks.
 */
export function createHooks(react: ReactLike): Hooks {
  return {
    useStream<S>(options: UseStreamOptions<S>): StreamStore<S> {
      const [held, hold] = react.useState<OwnedStore<S>>(() => createStore(options));
      let store = held;
      if (held.key !== keyOf(options)) {
        // As React has it for state that hangs on a property: it renders anew before anybody looks.
        store = createStore(options);
        hold(store);
      }
      react.useEffect(() => store.update(options));
      react.useEffect(() => store.connect(), [store]);
      return store;
    },
    useFrames<S>(store: StreamStore<S>): S {
      return react.useSyncExternalStore(store.subscribe, store.value, store.initial);
    },
    useStreamState(store: StreamStore<unknown>): StreamState {
      return react.useSyncExternalStore(store.subscribe, store.state, () => "stopped");
    },
  };
}
