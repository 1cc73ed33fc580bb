import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ConfigError } from "../../../src/errors.ts";
import { Outflow } from "../../../src/relay/outflow.ts";
import { test } from "../../support/test.ts";

test("never more is on its way than the bound, but for one message that goes alone", () => {
  const size = fc.integer({ min: 0, max: 150 });
  fc.assert(fc.property(fc.array(fc.tuple(size, fc.boolean())), (steps) => {
    const outflow = new Outflow(100);
    const under: number[] = [];
    for (const [bytes, arrives] of steps) {
      const before = outflow.bytes;
      const taken = outflow.take(bytes);
      assertEquals(taken, before === 0 || before + bytes <= 100);
      if (taken) under.push(bytes);
      const sum = under.reduce((total, next) => total + next, 0);
      assertEquals(outflow.bytes, sum);
      assertEquals(sum <= 100 || under.filter((next) => next > 0).length === 1, true);
      if (arrives) outflow.free(under.shift() ?? 0);
    }
  }));
});

test("what broke with a connection is not counted twice", () => {
  const outflow = new Outflow(100);
  outflow.take(60);
  outflow.clear();
  assertEquals([outflow.bytes, outflow.take(60)], [0, true]);
  outflow.free(1000);
  assertEquals(outflow.bytes, 0);
});

test("a bound that makes no sense is refused", () => {
  for (const bound of [0, -1, NaN]) {
    const error = assertThrows(() => new Outflow(bound), ConfigError);
    assertEquals(error.option, "maxPendingBytes");
  }
});
