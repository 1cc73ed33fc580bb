import { assert, assertEquals, assertLessOrEqual, assertRejects } from "@std/assert";
import fc from "fast-check";
import { createHub, type DigestOptions, type Hub, type HubOptions } from "../../../mod.ts";
import { createDigestClient, type DigestClientOptions } from "../../../src/client/digest.ts";
import { createVersionMap } from "../../../src/client/versions.ts";
import { DigestStatusError } from "../../../src/errors.ts";
import { test } from "../../support/test.ts";
import {
  changedOf,
  type DigestBody,
  type Fate,
  type Fated,
  fated,
  many,
  newer,
  removedOf,
  snapshotOf,
  tap,
} from "./digest_server.ts";

const VERSIONS = "feedfacefeedface";

/** A hub, and a client whose requests are calls of its handler. */
interface Pair {
  readonly hub: Hub;
  readonly client: ReturnType<typeof createDigestClient>;
  /** What was asked, request by request. */
  readonly asked: () => readonly DigestBody[];
  /** The sizes of the requests, in bytes. */
  readonly bytes: () => readonly number[];
}

/** A hub whose resolver knows the fates by what is asked, whatever order that has. */
async function withHub(
  fates: () => readonly Fated[],
  body: (pair: Pair) => Promise<void>,
  options: {
    readonly hub?: HubOptions;
    readonly digest?: DigestOptions;
    readonly client?: Partial<DigestClientOptions>;
  } = {},
): Promise<void> {
  const hub = createHub(options.hub);
  const handler = hub.digestHandler((held) => {
    const states = new Map(fates().map((one) => [JSON.stringify([one.kind, one.ref]), one]));
    return held.map(({ kind, ref, version }) => {
      const fate = states.get(JSON.stringify([kind, ref]))?.fate ?? "gone";
      const current = fate === "changed" ? newer(version) : version;
      return {
        kind,
        ref,
        version: current,
        status: fate === "gone" || fate === "forbidden" ? fate : "",
      };
    });
  }, options.digest);
  const { fetch, posts } = tap(({ url, init }) => handler(new Request(url, init)));
  const client = createDigestClient({ url: "http://localhost/digest", fetch, ...options.client });
  try {
    await body({
      hub,
      client,
      asked: () => posts.map((posted) => posted.body),
      bytes: () => posts.map((posted) => posted.bytes),
    });
  } finally {
    await hub.shutdown();
  }
}

const cycle = (i: number): Fate =>
  (["same", "changed", "gone", "forbidden"] as const)[i % 4] ?? "same";

test("a real hub answers 1, 256, 257 and 1000 subjects, and the result is complete", async () => {
  for (const [count, requests] of [[1, 1], [256, 1], [257, 2], [1000, 4]] as const) {
    const fates = many(count, cycle);
    await withHub(() => fates, async ({ hub, client, asked }) => {
      const versions = createVersionMap();
      versions.bind(hub.position().epoch);
      for (const subject of fates) versions.observe(subject, subject.version);
      const { mustRefetch, changed, removed, epoch } = await client.check(versions.snapshot());
      assertEquals([mustRefetch, epoch], [false, hub.position().epoch]);
      assertEquals<unknown>([changed, removed], [changedOf(fates), removedOf(fates)]);
      assertEquals(asked().length, requests);
    });
  }
});

test("whatever a map holds, a real hub takes it, and the result is the difference", async () => {
  let fates: readonly Fated[] = [];
  await withHub(() => fates, async ({ hub, client }) => {
    await fc.assert(
      fc.asyncProperty(fated, async (given) => {
        fates = given;
        const result = await client.check(snapshotOf(fates, hub.position().epoch));
        assertEquals(result.mustRefetch, false);
        assertEquals<unknown>(
          [result.changed, result.removed],
          [changedOf(fates), removedOf(fates)],
        );
      }),
      { numRuns: 60 },
    );
  }, { client: { maxSubjects: 5 } });
});

/** The largest subjects that a map takes, each of one character which is written in the worst way. */
function worst(count: number, unit: string, fate: (i: number) => Fate = cycle): Fated[] {
  const times = Math.floor((512 - 4) / new TextEncoder().encode(unit).length);
  return Array.from({ length: count }, (_, i) => ({
    kind: `k${"_".repeat(31)}`,
    ref: String(i).padStart(4, "0") + unit.repeat(times),
    version: '"'.repeat(64),
    fate: fate(i),
  }));
}

test("256 of the worst escapes are one request, and none is too large", async () => {
  for (const unit of ['"', "\\", "é", "€", "😀", "a"]) {
    const fates = worst(257, unit);
    await withHub(() => fates, async ({ hub, client, asked, bytes }) => {
      const versions = createVersionMap();
      versions.bind(hub.position().epoch);
      for (const subject of fates) assert(versions.observe(subject, subject.version));
      const { mustRefetch, changed, removed } = await client.check(versions.snapshot());
      assertEquals([mustRefetch, asked().length], [false, 2], unit);
      assertEquals<unknown>([changed, removed], [changedOf(fates), removedOf(fates)]);
      for (const size of bytes()) assertLessOrEqual(size, 524_288);
    });
  }
});

test("with more subjects in one request than the default, the body's bound still holds", async () => {
  for (const unit of ['"', "€"]) {
    const fates = worst(1200, unit);
    await withHub(() => fates, async ({ hub, client, asked, bytes }) => {
      const result = await client.check(snapshotOf(fates, hub.position().epoch));
      assertEquals(result.mustRefetch, false);
      assertEquals<unknown>([result.changed, result.removed], [
        changedOf(fates),
        removedOf(fates),
      ]);
      assert(asked().length > 1, "one request would not have been enough");
      for (const size of bytes()) assertLessOrEqual(size, 524_288);
    }, { digest: { maxSubjects: 1200 }, client: { maxSubjects: 1200 } });
  }
});

test("a hub with lower bounds refuses, and the status says so", async () => {
  const fates = many(3);
  await withHub(() => fates, async ({ hub, client }) => {
    const { epoch } = hub.position();
    const error = await assertRejects(
      () => client.check(snapshotOf(fates, epoch)),
      DigestStatusError,
    );
    assertEquals(error.status, 400);
    assertEquals((await client.check(snapshotOf(fates.slice(1), epoch))).mustRefetch, false);
  }, { digest: { maxSubjects: 2 } });
});

test("where the application has an epoch of its own, it is the one that counts", async () => {
  const fates = many(2, () => "changed");
  await withHub(() => fates, async ({ hub, client }) => {
    const mine = await client.check(snapshotOf(fates, VERSIONS));
    assertEquals([mine.mustRefetch, mine.epoch, mine.changed.length], [false, VERSIONS, 2]);
    const hubs = await client.check(snapshotOf(fates, hub.position().epoch));
    assertEquals([hubs.mustRefetch, hubs.epoch, hubs.changed], [true, VERSIONS, []]);
  }, { hub: { versionEpoch: VERSIONS } });
});

test("a real hub says refetch to no epoch, a foreign one, and a resolver that fails", async () => {
  const fates = many(2);
  await withHub(() => fates, async ({ client, hub }) => {
    const { epoch } = hub.position();
    for (const foreign of ["", VERSIONS]) {
      const result = await client.check(snapshotOf(fates, foreign));
      assertEquals([result.mustRefetch, result.epoch], [true, epoch]);
    }
    const empty = await client.check({ epoch: "", subjects: [] });
    assertEquals([empty.mustRefetch, empty.epoch], [false, epoch]);
  });
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  await withHub(() => {
    throw new Error("no database");
  }, async ({ client, hub }) => {
    const { epoch } = hub.position();
    assertEquals((await client.check(snapshotOf(fates, epoch))).mustRefetch, true);
  }, { hub: { logger } });
});

test("the position is the hub's", async () => {
  await withHub(() => many(3), async ({ hub, client }) => {
    for (let i = 0; i < 5; i++) hub.publish({ data: "x" });
    const { floor, head } = await client.check(snapshotOf(many(3), hub.position().epoch));
    const position = hub.position();
    assertEquals([floor, head], [String(position.floor), String(position.head)]);
    assertEquals(head, "5");
  }, { hub: { replay: { maxEvents: 2, ttlMs: 600_000 } } });
});
