/**
 * The digest over HTTP, against the fixture's little store.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type ExchangeOptions, fetchRaw, type WholeResponse } from "./lib/exchange.ts";
import type { Ground, Tests } from "./lib/group.ts";

const JSON_TYPE: [string, string] = ["Content-Type", "application/json"];
const FOREIGN = "0123456789abcdef";
const MAX_BODY = 524_288;

interface Subject {
  readonly kind?: unknown;
  readonly ref?: unknown;
  readonly version?: unknown;
}

const good: Subject = { kind: "chat", ref: "c1", version: "1" };

/** Bodies that break a rule, each with later rules broken too, and a word of the rule it names. */
const INVALID: readonly (readonly [body: string, reason: RegExp])[] = [
  ["", /JSON/],
  ["{", /JSON/],
  ["[]", /object/],
  ["null", /object/],
  ['"x"', /object/],
  [JSON.stringify({ epoch: "ABCDEF0123456789" }), /epoch/],
  [JSON.stringify({ epoch: "0123", subjects: [{}] }), /epoch/],
  [JSON.stringify({ epoch: 7, subjects: [] }), /epoch/],
  [JSON.stringify({ epoch: FOREIGN }), /subjects/],
  [JSON.stringify({ epoch: FOREIGN, subjects: {} }), /subjects/],
  [request(Array.from({ length: 257 }, () => ({}))), /257.*256|256.*257/],
  [request([{ ...good, kind: "" }]), /kind/],
  [request([{ ...good, kind: "Chat", ref: "\n" }]), /kind/],
  [request([{ ...good, kind: "1a" }]), /kind/],
  [request([{ ...good, kind: "k".repeat(33) }]), /kind/],
  [request([{ kind: "chat", version: "1" }]), /ref/],
  [request([{ ...good, ref: "r".repeat(513), version: "" }]), /ref/],
  [request([{ ...good, ref: "é".repeat(257) }]), /ref/],
  [request([{ ...good, ref: "a\u0000b" }]), /ref/],
  [request([{ ...good, ref: "a\u2028b" }]), /ref/],
  [request([{ ...good, ref: "a\u202eb" }]), /ref/],
  [request([{ ...good, version: "" }]), /version/],
  [request([{ ...good, version: "v".repeat(65) }]), /version/],
  [request([{ ...good, version: "é" }]), /version/],
  [request([{ ...good, version: 1 }]), /version/],
  [request([good, { ...good, version: "2" }]), /same|twice|duplicate/],
];

/** At the default settings. */
export const digestTests: Tests = {
  "it tells what changed and what was removed, and nothing of what is current": async (
    ground,
  ) => {
    const refs = { same: "a", newer: "b", gone: "c", secret: "d" };
    for (const ref of Object.values(refs)) await mutate(ground, ref, "");
    await mutate(ground, refs.newer, "");
    await mutate(ground, refs.gone, "gone");
    await mutate(ground, refs.secret, "forbidden");
    await ground.publish({ data: "x", count: 3 });
    const epoch = await ground.epoch();
    const subjects = Object.values(refs).map((ref) => ({ kind: "digest", ref, version: "1" }));
    assertEquals(await answer(ground, { epoch, subjects }), {
      epoch,
      floor: "1",
      head: "3",
      checked: 4,
      must_refetch: false,
      changed: [{ kind: "digest", ref: "b", version: "2" }],
      removed: [
        { kind: "digest", ref: "c", reason: "gone" },
        { kind: "digest", ref: "d", reason: "forbidden" },
      ],
    });
  },

  "a foreign epoch or none means that all must be fetched again": async (ground) => {
    const epoch = await ground.epoch();
    await mutate(ground, "x", "");
    const subjects = [{ kind: "digest", ref: "x", version: "1" }];
    for (const held of [{ epoch: FOREIGN, subjects }, { epoch: "", subjects }, { subjects }]) {
      assertEquals(await answer(ground, held), {
        epoch,
        floor: "0",
        head: "0",
        checked: 0,
        must_refetch: true,
        changed: [],
        removed: [],
      });
    }
  },

  "no subjects are checked without a resolver, and unknown fields are ignored": async (
    ground,
  ) => {
    const epoch = await ground.epoch();
    const { checked, must_refetch } = await answer(ground, { epoch, subjects: [], extra: 1 });
    assertEquals([checked, must_refetch], [0, false]);
  },

  "a method other than POST is 405 digest_method": async (ground) => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const refused = await ask(ground, { method });
      expectRefusal(refused, 405, "digest_method");
      assertEquals(refused.head.headers.get("allow"), "POST");
    }
  },

  "a content type other than application/json is 415 digest_content_type": async (ground) => {
    const body = request([good]);
    for (const type of ["text/plain", "application/jsonp", "application/x-www-form-urlencoded"]) {
      const refused = await ask(ground, { headers: [["Content-Type", type]], body });
      expectRefusal(refused, 415, "digest_content_type");
    }
    expectRefusal(await ask(ground, { headers: [], body }), 415, "digest_content_type");
    const charset: [string, string] = ["Content-Type", "Application/JSON; charset=utf-8"];
    assertEquals((await ask(ground, { headers: [charset], body })).head.status, 200);
  },

  "the first broken rule is named": async (ground) => {
    for (const [body, reason] of INVALID) {
      const error = expectRefusal(await ask(ground, { body }), 400, "digest_invalid");
      assertMatch(error, reason, body.slice(0, 200));
    }
  },

  "a body over 512 KiB is 413 digest_too_large, with or without a length": async (ground) => {
    const body = request([good]);
    const fits = body.padEnd(MAX_BODY, " ");
    const over = `${fits} `;
    assertEquals((await ask(ground, { body: fits })).head.status, 200);
    expectRefusal(await ask(ground, { body: over }), 413, "digest_too_large");
    assertEquals((await ask(ground, { body: chunked(fits), headers: CHUNKED })).head.status, 200);
    const refused = await ask(ground, { body: chunked(over), headers: CHUNKED });
    expectRefusal(refused, 413, "digest_too_large");
  },

  "256 subjects of the longest legal escapes fit": async (ground) => {
    const epoch = await ground.epoch();
    const subjects = Array.from({ length: 256 }, (_, i) => ({
      kind: "k".repeat(32),
      ref: `${"\\".repeat(509)}${String(i).padStart(3, "0")}`,
      version: '"'.repeat(64),
    }));
    const { checked, removed } = await answer(ground, { epoch, subjects });
    assert(Array.isArray(removed));
    assertEquals([checked, removed.length], [256, 256]);
  },
};

const CHUNKED: [string, string][] = [JSON_TYPE, ["Transfer-Encoding", "chunked"]];

function request(subjects: readonly Subject[]): string {
  return JSON.stringify({ epoch: FOREIGN, subjects });
}

function chunked(text: string): string {
  const chunks: string[] = [];
  for (let at = 0; at < text.length; at += 60_000) {
    const chunk = text.slice(at, at + 60_000);
    chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  }
  return `${chunks.join("")}0\r\n\r\n`;
}

async function mutate(ground: Ground, ref: string, status: string): Promise<void> {
  await ground.fixture.control("mutate", { kind: "digest", ref, status });
}

function ask(ground: Ground, options: ExchangeOptions): Promise<WholeResponse> {
  return fetchRaw(`${ground.fixture.url}/digest`, {
    method: "POST",
    ...options,
    headers: [["Connection", "close"], ...options.headers ?? [JSON_TYPE]],
  });
}

async function answer(ground: Ground, body: unknown): Promise<Record<string, unknown>> {
  const { head, text } = await ask(ground, { body: JSON.stringify(body) });
  assertEquals(head.status, 200, text);
  assertStringIncludes(head.headers.get("content-type") ?? "", "application/json");
  return JSON.parse(text) as Record<string, unknown>;
}

/** Checks a refusal and returns its message. */
function expectRefusal({ head, text }: WholeResponse, status: number, code: string): string {
  assertEquals(head.status, status, text);
  assertEquals(head.headers.get("x-content-type-options"), "nosniff");
  const envelope = JSON.parse(text) as Record<string, string>;
  assertEquals(envelope["code"], code);
  return envelope["error"] ?? "";
}
