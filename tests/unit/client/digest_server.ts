/**
 * What the digest client's tests share: a fetch that keeps what was posted, and a server which says
 * what a test decided of each subject.
 *
 * @module
 */
import fc from "fast-check";
import type { Fetch, Subject } from "../../../src/client/types.ts";
import type { HeldVersion, VersionSnapshot } from "../../../src/client/versions.ts";

/** The epoch of the server. */
export const EPOCH = "00c0ffee00c0ffee";

/** What is posted. */
export interface DigestBody {
  readonly epoch: string;
  readonly subjects: readonly HeldVersion[];
}

/** One request that was made. */
export interface Posted {
  readonly url: string;
  readonly init: RequestInit;
  readonly headers: Headers;
  /** The size of the body in bytes of UTF-8. */
  readonly bytes: number;
  readonly body: DigestBody;
}

/** A fetch that answers what it is told to, and keeps what was posted. */
export interface Tap {
  readonly fetch: Fetch;
  readonly posts: Posted[];
  /** The most requests that were unanswered at once. */
  readonly atOnce: () => number;
}

/** What an answer is made of: JSON, or a response. */
export type Answer = Readonly<Record<string, unknown>> | Response;

/**
 * Makes the fetch.
 *
 * @param answer Answers a request; `i` counts them from 0.
 * @returns The fetch, and what it kept.
 */
export function tap(answer: (posted: Posted, i: number) => Answer | Promise<Answer>): Tap {
  const posts: Posted[] = [];
  let open = 0;
  let most = 0;
  const fetch: Fetch = async (url, init = {}) => {
    const text = String(init.body);
    const posted: Posted = {
      url: String(url),
      init,
      headers: new Headers(init.headers),
      bytes: new TextEncoder().encode(text).length,
      body: JSON.parse(text) as DigestBody,
    };
    most = Math.max(most, ++open);
    try {
      // In a later turn, as over a network.
      await Promise.resolve();
      const given = await answer(posted, posts.push(posted) - 1);
      return given instanceof Response ? given : Response.json(given);
    } finally {
      open--;
    }
  };
  return { fetch, posts, atOnce: () => most };
}

/** What became of a subject: nothing, another version, or its end. */
export type Fate = "same" | "changed" | "gone" | "forbidden";

/** A held subject and its fate. */
export interface Fated extends HeldVersion {
  readonly fate: Fate;
}

/** The version that a changed subject has. */
export const newer = (version: string): string => version === "2" ? "3" : "2";

/**
 * What an honest server of {@linkcode EPOCH} answers.
 *
 * @param fates The fates, of which it finds those that are asked about by a plain search.
 * @param body What is asked.
 * @returns The answer.
 */
export function honest(fates: readonly Fated[], body: DigestBody): Record<string, unknown> {
  const envelope = { epoch: EPOCH, floor: "3", head: "9" };
  if (body.subjects.length > 0 && body.epoch !== EPOCH) {
    return { ...envelope, checked: 0, must_refetch: true, changed: [], removed: [] };
  }
  const asked = body.subjects.map(({ kind, ref }) => {
    const found = fates.find((one) => one.kind === kind && one.ref === ref);
    if (found === undefined) throw new Error(`Nobody holds ${kind} ${ref}`);
    return found;
  });
  return {
    ...envelope,
    checked: asked.length,
    must_refetch: false,
    changed: changedOf(asked),
    removed: removedOf(asked),
  };
}

/** Those that changed, with their new version. */
export function changedOf(fates: readonly Fated[]): HeldVersion[] {
  return fates.filter(({ fate }) => fate === "changed")
    .map(({ kind, ref, version }) => ({ kind, ref, version: newer(version) }));
}

/** Those that were removed, with the reason. */
export function removedOf(fates: readonly Fated[]): (Subject & { readonly reason: string })[] {
  return fates.filter(({ fate }) => fate === "gone" || fate === "forbidden")
    .map(({ kind, ref, fate }) => ({ kind, ref, reason: fate }));
}

/** What a map holds of them. */
export function snapshotOf(fates: readonly Fated[], epoch = EPOCH): VersionSnapshot {
  return { epoch, subjects: fates.map(({ kind, ref, version }) => ({ kind, ref, version })) };
}

/** Distinct subjects with whatever may stand in a reference, and their fates. */
export const fated: fc.Arbitrary<readonly Fated[]> = fc.uniqueArray(
  fc.record({
    kind: fc.constantFrom("chat", "a", "a_b"),
    ref: fc.oneof(
      fc.string({ unit: fc.constantFrom("a", ":", '"', "\\", "é", "€", "😀", "/"), maxLength: 6 }),
      fc.nat({ max: 99 }).map(String),
    ),
    version: fc.constantFrom("1", "2", '"\\', "~".repeat(64)),
    fate: fc.constantFrom<Fate>("same", "changed", "gone", "forbidden"),
  }),
  { selector: ({ kind, ref }) => JSON.stringify([kind, ref]), maxLength: 24 },
);

/** As many plain subjects, none of which has changed. */
export function many(count: number, fate: (i: number) => Fate = () => "same"): Fated[] {
  return Array.from(
    { length: count },
    (_, i) => ({ kind: "chat", ref: `c${i}`, version: "1", fate: fate(i) }),
  );
}
