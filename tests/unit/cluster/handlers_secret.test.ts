import { assertEquals } from "@std/assert";
import { keyCheck, sameBytes } from "../../../src/cluster/handlers/secret.ts";
import { test } from "../../support/test.ts";
import { KEY, NEXT_KEY } from "../service/world.ts";

test("whatever is presented is compared with every key, also after one that fits", async () => {
  const keys = [KEY, NEXT_KEY, "a-third-key-for-good-measure"];
  let compared: number[] = [];
  const check = keyCheck(keys, "keys", (a, b) => {
    compared.push(a.length, b.length);
    return sameBytes(a, b);
  });
  const sha256 = 32;
  const near = [KEY.slice(0, -1), KEY.slice(1), `${KEY}=`, "", "x".repeat(100_000)];
  for (const presented of [...keys, ...near]) {
    compared = [];
    assertEquals(await check(presented), keys.includes(presented));
    assertEquals(compared, Array.from({ length: 2 * keys.length }, () => sha256), presented);
  }
});
