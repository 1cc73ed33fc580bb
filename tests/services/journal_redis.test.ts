/**
 * The journal in Redis against the suite that every journal passes.
 *
 * @module
 */
import { journalCases } from "../../src/journal/conformance.ts";
import { REDIS_SERVER } from "../support/redis.ts";
import { test } from "../support/test.ts";
import { redisSubject } from "./journal_redis_subject.ts";

for (const { name, run } of journalCases(redisSubject)) {
  test(`Redis: ${name}`, run, { needs: [REDIS_SERVER], foreignTimers: true });
}
