/**
 * What the tests of a kept cursor share: a stream with a store, and what it did with it.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type {
  LoadedCursor,
  Persistence,
  RevalidateContext,
  SavedCursor,
  StreamOptions,
} from "../../../src/client/types.ts";
import { type Asked, type Script, serving, STREAM } from "../../support/scripted_server.ts";
import { at, greeting, watch, type Watched } from "./edges.ts";

/** A stream with a store, and what it did with it. */
export interface Kept extends Watched {
  readonly saved: SavedCursor[];
  readonly loads: () => number;
  readonly runs: RevalidateContext[];
  readonly asked: readonly Asked[];
}

/** The cursor in the store. */
export const KEPT: string = at(5);

/** An answer that resumes from it. */
export const resumed = (): Script => [STREAM, greeting({ verdict: "resumed", head: 5 })];

/** Runs a test with a stream that has a store, over real sockets. */
export async function keeping(
  load: Persistence["load"],
  answer: (asked: Asked) => Script,
  body: (kept: Kept) => Promise<void>,
  options: Partial<StreamOptions> = {},
): Promise<void> {
  await serving(answer, async (server) => {
    const saved: SavedCursor[] = [];
    const runs: RevalidateContext[] = [];
    let loads = 0;
    const watched = watch({
      url: `${server.origin}/`,
      persist: {
        load() {
          loads++;
          return load();
        },
        save: (each) => void saved.push(each),
      },
      revalidate: (context) => void runs.push(context),
      ...options,
    });
    await body({ ...watched, saved, loads: () => loads, runs, asked: server.asked });
    watched.stream.stop();
    await server.empty();
    assertEquals(watched.clock.pending, 0);
  });
}

/** A load that brings the cursor. */
export function loaded(rest: Partial<LoadedCursor> = {}): () => LoadedCursor {
  return () => ({ cursor: KEPT, unverified: false, ...rest });
}
