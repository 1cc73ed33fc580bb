/**
 * One `test` for every runtime: `Deno.test`, `bun:test` or `node:test`, whichever is there.
 *
 * A unit test written against it runs on all three without a change.
 *
 * @module
 */
import { missing, REQUIRE_ALL } from "./require.ts";

/** What a test does. It fails when it throws or rejects. */
export type TestBody = () => void | Promise<void>;

/** Options of {@linkcode test}. */
export interface TestOptions {
  /**
   * The programs that the test starts, by the name they have on the `PATH`. Where one is missing
   * the test is reported as ignored, or fails when everything is required.
   */
  readonly needs?: readonly string[];
  /** How long the test may take, in milliseconds; 60 000. A hung test fails with its own name. */
  readonly timeoutMs?: number;
  /** Whether a library that the test drives keeps timers of its own, which no test can end. */
  readonly foreignTimers?: boolean;
}

/** How a runtime takes a test. */
type Register = (
  name: string,
  body: () => Promise<void>,
  ignored: boolean,
  foreignTimers: boolean,
) => void;

// Kept here, so that a test with fake timers does not stop the deadline of its own run.
const { setTimeout, clearTimeout } = globalThis;
const DEFAULT_TIMEOUT_MS = 60_000;
const register = await runner();

/**
 * Registers a test.
 *
 * @param name A sentence of behaviour.
 * @param body What it does.
 * @param options What it needs, and how long it may take.
 */
export function test(name: string, body: TestBody, options: TestOptions = {}): void {
  const absent = missing(options.needs ?? []);
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const run = async (): Promise<void> => {
    if (absent.length > 0) throw new Error(`Cannot run: ${absent.join(", ")} is not installed`);
    await within(timeoutMs, body);
  };
  const ignored = absent.length > 0 && !REQUIRE_ALL;
  register(
    ignored ? `${name} [skipped: no ${absent.join(", ")}]` : name,
    run,
    ignored,
    options.foreignTimers === true,
  );
}

async function within(timeoutMs: number, body: TestBody): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The test took over ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([body(), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function runner(): Promise<Register> {
  if ("Deno" in globalThis) {
    return (name, fn, ignore, foreignTimers) =>
      Deno.test({
        name,
        fn,
        ignore,
        sanitizeOps: !foreignTimers,
        // Deno counts timers among the resources.
        sanitizeResources: !foreignTimers,
        sanitizeExit: true,
      });
  }
  // The names stand in variables: each of these modules exists on one runtime only.
  if ("Bun" in globalThis) {
    const bun: string = "bun:test";
    const { test } = await import(bun) as BunTest;
    return (name, fn, ignored) => ignored ? test.skip(name, fn) : test(name, fn, NEVER_MS);
  }
  const node: string = "node:test";
  const { test } = await import(node) as NodeTest;
  return (name, fn, skip) => void test(name, { skip }, () => fn());
}

/** Bun's own limit is 5 s unless told; ours is in force instead. */
const NEVER_MS = 2_147_483_647;

interface BunTest {
  readonly test: {
    (name: string, body: () => Promise<void>, timeoutMs: number): void;
    skip(name: string, body: () => Promise<void>): void;
  };
}

interface NodeTest {
  test(name: string, options: { readonly skip: boolean }, body: () => Promise<void>): unknown;
}
