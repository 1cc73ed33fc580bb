/**
 * The little application behind a stream under test: it shows subjects, keeps their versions, and
 * brings them up to date as a real one would: by a digest, or by fetching everything.
 *
 * @module
 */
import { createDigestClient, type DigestClient } from "../../src/client/digest.ts";
import type { LifecycleRecord } from "../../src/client/records.ts";
import type { RevalidateContext, Subject } from "../../src/client/types.ts";
import { createVersionMap, type VersionMap } from "../../src/client/versions.ts";

/** What `/rest/KIND/REF` answers. */
interface Representation {
  readonly version: string;
  readonly epoch: string;
  readonly payload: string;
}

/** How many fetches are under way at once: a page would not send three hundred either. */
const WIDTH = 16;

/** The application. */
export class Application {
  /** The versions of what it shows. */
  readonly versions: VersionMap = createVersionMap();
  readonly #url: string;
  readonly #digest: DigestClient;
  readonly #shown = new Map<string, Subject & { readonly payload: string }>();

  /**
   * @param url The fixture.
   * @param digestTimeoutMs How long a digest may take.
   * @param onLifecycle Takes the digest's records.
   */
  constructor(
    url: string,
    digestTimeoutMs: number | undefined,
    onLifecycle: (record: LifecycleRecord) => void,
  ) {
    this.#url = url;
    this.#digest = createDigestClient({
      url: `${url}/digest`,
      timeoutMs: digestTimeoutMs,
      onLifecycle,
    });
  }

  /** What it shows, by `kind/ref`. */
  get shown(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#shown].map(([key, { payload }]) => [key, payload]));
  }

  /**
   * Fetches subjects, and shows them.
   *
   * @param subjects Which.
   * @param signal Gives it up.
   * @throws {Error} When one is answered with neither 200, 403 nor 404.
   */
  async show(subjects: readonly Subject[], signal?: AbortSignal): Promise<void> {
    const left = [...subjects];
    const work = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        await this.#fetch(next, signal);
      }
    };
    await Promise.all(Array.from({ length: WIDTH }, work));
  }

  /**
   * Brings what it shows up to date.
   *
   * @param context What the stream says.
   */
  async revalidate({ full, signal }: RevalidateContext): Promise<void> {
    if (full) return await this.show([...this.#shown.values()], signal);
    const found = await this.#digest.check(this.versions.snapshot(), signal);
    if (found.mustRefetch) return await this.show([...this.#shown.values()], signal);
    for (const subject of found.removed) this.#drop(subject);
    await this.show(found.changed, signal);
  }

  async #fetch(subject: Subject, signal: AbortSignal | undefined): Promise<void> {
    const { kind, ref } = subject;
    const response = await fetch(`${this.#url}/rest/${kind}/${ref}`, { signal: signal ?? null });
    const text = await response.text();
    if (response.status === 403 || response.status === 404) return this.#drop(subject);
    if (!response.ok) throw new Error(`/rest/${kind}/${ref} was answered with ${response.status}`);
    const { version, epoch, payload } = JSON.parse(text) as Representation;
    this.#shown.set(`${kind}/${ref}`, { kind, ref, payload });
    this.versions.observe(subject, version, epoch);
  }

  #drop(subject: Subject): void {
    this.#shown.delete(`${subject.kind}/${subject.ref}`);
    this.versions.forget(subject);
  }
}
