/**
 * The digest: a client that comes back asks which of the versions it holds are out of date.
 *
 * @module
 */
import { isEpoch } from "../wire/cursor.ts";
import { subjectFault, versionFault } from "../wire/digest.ts";
import { DIGEST_MAX_BODY_BYTES, DIGEST_MAX_SUBJECTS } from "../wire/timing.ts";
import { type BodyFault, readBody } from "./body.ts";
import type { Clock } from "./clock.ts";
import { json, refusal } from "./refusal.ts";

/** One unit of the application's state, with the version that a client holds. */
export interface HeldSubject {
  /** What it is: 1 to 32 bytes, `[a-z][a-z0-9_]*`. */
  readonly kind: string;
  /** Which one: at most 512 bytes. */
  readonly ref: string;
  /** The version the client holds: 1 to 64 bytes of printable ASCII. */
  readonly version: string;
}

/** The current state of one subject. */
export interface SubjectState {
  /** As it was asked. */
  readonly kind: string;
  /** As it was asked. */
  readonly ref: string;
  /** The current version; not looked at unless `status` is `""`. */
  readonly version: string;
  /** `""` when it exists; `gone`; `forbidden`, or `gone` for both where existence is a secret. */
  readonly status: "" | "gone" | "forbidden";
}

/**
 * Answers the current state of each subject that was asked, exactly one for each and no other. A
 * throw makes the client refetch.
 */
export type Resolver = (
  held: readonly HeldSubject[],
  context: { readonly request: Request; readonly signal: AbortSignal },
) => readonly SubjectState[] | Promise<readonly SubjectState[]>;

/** The bounds of a digest request. */
export interface DigestOptions {
  /** The most subjects; 256. Not positive keeps the default. */
  readonly maxSubjects?: number;
  /** The largest body in bytes; 524,288. Not positive keeps the default. */
  readonly maxBodyBytes?: number;
}

interface DigestRequest {
  readonly epoch: string;
  readonly subjects: readonly HeldSubject[];
}

interface Differences {
  readonly changed: { kind: string; ref: string; version: string }[];
  readonly removed: { kind: string; ref: string; reason: string }[];
}

/** What the digest asks of its hub. */
export interface DigestHome {
  /** The replay window now. */
  position(): { readonly floor: number; readonly head: number };
  /** The epoch that versions belong to. */
  versionEpoch(): string;
  /** Tells a person that a resolver failed. */
  failed(error: unknown): void;
  /** By which a body's time is measured; the system's. */
  readonly clock?: Clock;
}

/**
 * Makes the handler.
 *
 * @param home The hub.
 * @param resolve The application's resolver.
 * @param options The bounds.
 * @returns The handler.
 */
export function digestHandler(
  home: DigestHome,
  resolve: Resolver,
  options: DigestOptions = {},
): (request: Request) => Promise<Response> {
  const maxSubjects = positive(options.maxSubjects) ?? DIGEST_MAX_SUBJECTS;
  const maxBody = positive(options.maxBodyBytes) ?? DIGEST_MAX_BODY_BYTES;
  return async (request) => {
    if (request.method !== "POST") {
      return refusal(405, "digest_method", "A digest is a POST", { Allow: "POST" });
    }
    if (essence(request.headers.get("Content-Type")) !== "application/json") {
      return refusal(415, "digest_content_type", "The content type must be application/json");
    }
    // A client that leaves half-way is nobody's error.
    const body = await readBody(request, maxBody, home.clock).catch((): BodyFault => "late");
    if (body === "late") return refusal(400, "digest_invalid", "The body could not be read");
    if (body === "too_large") {
      return refusal(413, "digest_too_large", `The body is over ${maxBody} bytes`);
    }
    const asked = parse(body, maxSubjects);
    if (typeof asked === "string") return refusal(400, "digest_invalid", asked);
    return answer(home, asked, await differences(home, resolve, asked, request));
  };
}

/** Compares what the client holds with what the resolver answers; `null` means refetch it all. */
async function differences(
  home: DigestHome,
  resolve: Resolver,
  asked: DigestRequest,
  request: Request,
): Promise<Differences | null> {
  if (asked.subjects.length === 0) return { changed: [], removed: [] };
  if (asked.epoch !== home.versionEpoch()) return null;
  try {
    // Read only by a resolver that wants it: on Deno the mere reading has a price.
    const context = {
      request,
      get signal(): AbortSignal {
        return request.signal;
      },
    };
    const found = compare(asked.subjects, await resolve(asked.subjects, context));
    if (found === null) home.failed("its answer does not match the request, subject by subject");
    return found;
  } catch (error) {
    home.failed(error);
    return null;
  }
}

function compare(
  held: readonly HeldSubject[],
  states: readonly SubjectState[],
): Differences | null {
  if (!Array.isArray(states) || states.length !== held.length) return null;
  const byKey = new Map(states.map((state) => [key(state), state]));
  const changed: Differences["changed"] = [];
  const removed: Differences["removed"] = [];
  for (const { kind, ref, version } of held) {
    const state = byKey.get(key({ kind, ref }));
    if (state === undefined) return null;
    if (state.status === "gone" || state.status === "forbidden") {
      removed.push({ kind, ref, reason: state.status });
    } else if (state.status !== "" || typeof state.version !== "string") {
      return null;
    } else if (state.version !== version) {
      changed.push({ kind, ref, version: state.version });
    }
  }
  return { changed, removed };
}

function answer(home: DigestHome, asked: DigestRequest, found: Differences | null): Response {
  const { floor, head } = home.position();
  return json({
    epoch: home.versionEpoch(),
    floor: String(floor),
    head: String(head),
    checked: found === null ? 0 : asked.subjects.length,
    must_refetch: found === null,
    changed: found?.changed ?? [],
    removed: found?.removed ?? [],
  });
}

/** The request, or the first rule it breaks, in the wire's order. */
function parse(body: Uint8Array, maxSubjects: number): DigestRequest | string {
  let raw: unknown;
  try {
    // Strict: a reference that was mended on its way would be another one.
    raw = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return "The body is not JSON";
  }
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    return "The body is not a JSON object";
  }
  const { epoch = "", subjects } = raw as Record<string, unknown>;
  if (typeof epoch !== "string" || (epoch !== "" && !isEpoch(epoch))) {
    return "epoch is not 16 lowercase hex characters";
  }
  if (!Array.isArray(subjects)) return "subjects is missing or not a list";
  if (subjects.length > maxSubjects) {
    return `subjects has ${subjects.length} entries, the most is ${maxSubjects}`;
  }
  const seen = new Set<string>();
  const held: HeldSubject[] = [];
  for (const [i, entry] of subjects.entries()) {
    const subject = readSubject(entry);
    if (typeof subject === "string") return `subjects[${i}]: ${subject}`;
    if (seen.has(key(subject))) return `subjects[${i}]: the same kind and ref were asked before`;
    seen.add(key(subject));
    held.push(subject);
  }
  return { epoch, subjects: held };
}

function readSubject(entry: unknown): HeldSubject | string {
  if (typeof entry !== "object" || entry === null) return "it is not an object";
  const { kind, ref, version } = entry as Record<string, unknown>;
  // Without a fault all three are texts.
  return subjectFault(kind, ref) ?? versionFault(version) ?? { kind, ref, version } as HeldSubject;
}

/** As JSON, so that two subjects never share a key, whatever a resolver makes of them. */
function key(subject: { readonly kind: string; readonly ref: string }): string {
  return JSON.stringify([subject.kind, subject.ref]);
}

function essence(contentType: string | null): string {
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}
