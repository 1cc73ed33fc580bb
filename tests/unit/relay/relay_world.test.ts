import { assertEquals } from "@std/assert";
import { RelayRecorder, say } from "../../support/relay_recorder.ts";
import { RelayWorld } from "../../support/relay_world.ts";
import { test } from "../../support/test.ts";

/** After all microtasks. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

test("a fate drops, delivers and repeats messages, for each listener by itself", async () => {
  const world = new RelayWorld();
  const [a, b, c] = [world.relay("a"), world.relay("b"), world.relay("c")];
  const [inB, inC] = [new RelayRecorder(), new RelayRecorder()];
  await Promise.all([b.listen(inB), c.listen(inC)]);
  world.fate = ({ from, to, message }) =>
    from === "a" && to === "b" && message.length === 1 ? "drop" : to === "c" ? "twice" : "deliver";
  for (const text of ["1", "22"]) a.send(say(text));
  await turn();
  assertEquals([inB.heard, inC.heard], [["22"], ["1", "1", "22", "22"]]);
});

test("what is held between two pods waits for its release, and nobody else's does", async () => {
  const world = new RelayWorld();
  const [a, b] = [world.relay("a"), world.relay("b")];
  const [inA, inB] = [new RelayRecorder(), new RelayRecorder()];
  await Promise.all([a.listen(inA), b.listen(inB)]);
  world.hold("a", "b");
  for (const text of ["1", "2"]) a.send(say(text));
  b.send(say("3"));
  await turn();
  assertEquals([inA.heard, inB.heard], [["1", "2", "3"], ["3"]]);
  world.release("a", "b");
  a.send(say("4"));
  await turn();
  assertEquals(inB.heard, ["3", "1", "2", "4"]);
});

test("a pod that is interrupted neither hears nor is heard, and is told before what comes next", async () => {
  const world = new RelayWorld();
  const [a, b] = [world.relay("a"), world.relay("b")];
  const order: string[] = [];
  const inA = new RelayRecorder();
  await a.listen(inA);
  const decoder = new TextDecoder();
  await b.listen({
    message: (message) => order.push(decoder.decode(message)),
    resumed: () => order.push("resumed"),
  });
  a.send(say("on its way"));
  world.interrupt("b");
  a.send(say("to b"));
  b.send(say("from b"));
  await turn();
  world.restore();
  a.send(say("after"));
  await turn();
  assertEquals(order, ["resumed", "after"]);
  assertEquals([inA.heard, inA.told], [["on its way", "to b", "after"], 0]);
});
