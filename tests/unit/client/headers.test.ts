import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { readHeaders } from "../../../src/client/headers.ts";
import type { HeadersSource } from "../../../src/client/types.ts";
import { test } from "../../support/test.ts";

const read = async (source: unknown): Promise<[string, string][]> => [
  ...(await readHeaders(source as HeadersSource)).entries(),
];

test("an object, a function and a promise of a function all give headers", async () => {
  const headers = { "X-Tag": "a b", "authorization": "Bearer 1" };
  const expected: [string, string][] = [["authorization", "Bearer 1"], ["x-tag", "a b"]];
  assertEquals(await read(headers), expected);
  assertEquals(await read(() => headers), expected);
  assertEquals(await read(() => Promise.resolve(headers)), expected);
  assertEquals([await read(undefined), await read({})], [[], []]);
});

test("each reading is its own", async () => {
  const headers = { "X-Tag": "1" };
  const first = await readHeaders(headers);
  first.set("X-More", "x");
  assertEquals(await read(headers), [["x-tag", "1"]]);
});

test("a name that is no token is refused, and the message is safe to log", async () => {
  for (const name of ["", "X Y", "X:Y", "Xé", "X\n", "a\u202eb", "(x)", "x".repeat(300) + " "]) {
    const error = await assertRejects(() => read({ [name]: "1" }), TypeError);
    assertStringIncludes(error.message, "its name is not a token of HTTP");
    assertEquals(/[\n\u202e]/.test(error.message) || error.message.length > 200, false);
  }
});

test("a value that cannot be sent is refused, and never repeated: it may be a credential", async () => {
  for (const value of ["secret\n", "\rsecret", "secret\0", "secret\u007f", "secret€"]) {
    const error = await assertRejects(() => read({ "X-Token": value }), TypeError);
    assertStringIncludes(error.message, '"X-Token": its value holds a control character');
    assertEquals(error.message.includes("secret"), false);
  }
  for (const value of [undefined, null, 7, ["secret"]]) {
    const error = await assertRejects(() => read({ "X-Token": value }), TypeError);
    assertStringIncludes(error.message, '"X-Token": its value is not a text');
  }
});

test("what is accepted is what the platform takes, and arrives as it is", async () => {
  const name = fc.string({
    unit: fc.constantFrom("a", "Z", "-", "!", " ", ":", "é"),
    maxLength: 4,
  });
  const unit = fc.constantFrom("a", " ", "\t", "é", "ÿ", "Ā", "\n", "\0", '"');
  await fc.assert(
    fc.asyncProperty(name, fc.string({ unit, maxLength: 5 }), async (name, value) => {
      const headers = await readHeaders({ [name]: value }).catch((error: unknown) => {
        assertEquals(error instanceof TypeError, true);
        return null;
      });
      const fine = /^[aZ!-]+$/.test(name) && !/[Ā\n\0]/.test(value);
      assertEquals(headers?.get(name), fine ? value.trim() : undefined);
    }),
    { numRuns: 300 },
  );
});

test("two names that differ in case alone are refused: one of them would win by chance", async () => {
  const error = await assertRejects(() => read({ Tag: "1", TAG: "2" }), TypeError);
  assertStringIncludes(error.message, '"TAG": its name is there twice');
});

test("what holds its headers otherwise than in properties is refused, not read as none", async () => {
  const sources = [new Headers({ a: "1" }), new Map([["a", "1"]]), [["a", "1"]], "a: 1", null, 7];
  for (const source of [...sources, () => undefined, () => new Headers()]) {
    const error = await assertRejects(() => read(source), TypeError);
    assertStringIncludes(error.message, "no plain object of names and values");
  }
});

test("what a function throws passes through", async () => {
  const trouble = new Error("no credentials");
  assertEquals(await assertRejects(() => read(() => Promise.reject(trouble))), trouble);
  assertEquals(
    await assertRejects(() =>
      read(() => {
        throw trouble;
      })
    ),
    trouble,
  );
});
