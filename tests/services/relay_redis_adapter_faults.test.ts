import { assertEquals } from "@std/assert";
import { RelayError } from "../../src/errors/relay.ts";
import { createRedisRelay } from "../../src/relay/redis.ts";
import { Ear } from "../../src/relay/redis/ear.ts";
import { eventually } from "../support/poll.ts";
import { onRedis } from "../support/redis.ts";
import { RelayRecorder, say } from "../support/relay_recorder.ts";
import { CHANNEL, direct, onProxy, through } from "./relay_redis_world.ts";

const KIBIBYTE = 1024;

onRedis("a server that is killed and comes back is told once, and relays again", async (server) => {
  const [one, other] = [direct(server), direct(server)];
  const [ear, witness] = [new RelayRecorder(), new RelayRecorder()];
  await Promise.all([one.listen(ear), other.listen(witness)]);
  for (const time of [1, 2]) {
    await server.stop("SIGKILL");
    await server.start();
    await eventually(() => ear.told === time && witness.told === time, { what: "both to be told" });
    one.send(say(`after ${time}`));
    const heard = (recorder: RelayRecorder): boolean => recorder.heard.includes(`after ${time}`);
    await eventually(() => heard(ear) && heard(witness), { what: "the message" });
  }
  assertEquals([ear.told, witness.told], [2, 2]);
  assertEquals([ear.heard, witness.heard], [["after 1", "after 2"], ["after 1", "after 2"]]);
  await Promise.all([one.close(), other.close()]);
});

onRedis("while the server stands still a bounded number of bytes wait", async (server) => {
  const recorder = new RelayRecorder();
  const [listening, relay] = [direct(server), direct(server, 64 * KIBIBYTE)];
  await listening.listen(recorder);
  relay.send(say("before"));
  await eventually(() => recorder.heard.length === 1, { what: "the first message" });
  server.signal("SIGSTOP");
  for (let n = 0; n < 1000; n++) relay.send(say(`${n} `.padEnd(20 * KIBIBYTE, ".")));
  server.signal("SIGCONT");
  await eventually(() => {
    relay.send(say("after"));
    return recorder.heard.includes("after");
  }, { what: "a message to come through again" });
  const numbers = recorder.heard.filter((text) => /^\d/.test(text)).map((text) => parseInt(text));
  assertEquals(numbers, [0, 1, 2], "the first ones, in their order");
  assertEquals(recorder.told, 0, "no connection was lost");
  await Promise.all([relay.close(), listening.close()]);
});

onProxy("what is sent while the connection is away does not wait for it", async (server, proxy) => {
  const recorder = new RelayRecorder();
  const listening = direct(server);
  await listening.listen(recorder);
  const client = await through(proxy, server);
  const relay = createRedisRelay(client, { channel: CHANNEL });
  proxy.cut();
  await eventually(() => client.status !== "ready", { what: "the connection to break" });
  for (let n = 0; n < 100; n++) relay.send(say(`lost ${n}`));
  proxy.mend();
  await eventually(() => client.status === "ready", { what: "the connection to come back" });
  relay.send(say("heard"));
  await eventually(() => recorder.heard.length > 0, { what: "a message" });
  assertEquals(recorder.heard, ["heard"]);
  await Promise.all([relay.close(), listening.close()]);
});

onProxy(
  "what a broken connection left unanswered takes no room for ever",
  async (server, proxy) => {
    const recorder = new RelayRecorder();
    const listening = direct(server);
    await listening.listen(recorder);
    // What it lost is neither sent again nor rejected: its promises stay pending.
    const client = await through(proxy, server, { autoResendUnfulfilledCommands: false });
    const relay = createRedisRelay(client, { channel: CHANNEL, maxPendingBytes: 4 * KIBIBYTE });
    for (let time = 0; time < 3; time++) {
      proxy.let("toBroker", "lose");
      relay.send(new Uint8Array(4 * KIBIBYTE));
      proxy.breakAll();
      proxy.let("toBroker", "pass");
      await eventually(() => client.status !== "ready", { what: "the connection to break" });
      await eventually(() => client.status === "ready", { what: "the connection to come back" });
    }
    relay.send(say("heard"));
    await eventually(() => recorder.heard.includes("heard"), { what: "a message" });
    await Promise.all([relay.close(), listening.close()]);
  },
);

onProxy(
  "after a reconnection it is told when the server has said so, not before",
  async (server, proxy) => {
    const [relay, sender] = [
      createRedisRelay(await through(proxy, server), { channel: CHANNEL }),
      direct(server),
    ];
    const recorder = new RelayRecorder();
    await relay.listen(recorder);
    proxy.let("toBroker", "hold");
    proxy.breakAll();
    await eventually(() => proxy.held("toBroker") > 0, { what: "the client to introduce itself" });
    assertEquals(recorder.told, 0);
    sender.send(say("lost"));
    proxy.let("toBroker", "pass");
    await eventually(() => recorder.told === 1, { what: "the interruption to be told" });
    sender.send(say("heard"));
    await eventually(() => recorder.heard.length > 0, { what: "a message" });
    assertEquals([recorder.heard, recorder.told], [["heard"], 1]);
    await Promise.all([relay.close(), sender.close()]);
  },
);

onProxy("a pod that reads too slowly is cut off by the server, and told", async (server, proxy) => {
  const owner = server.client();
  await owner.call("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 1mb 1");
  const relay = createRedisRelay(await through(proxy, server), { channel: CHANNEL });
  const recorder = new RelayRecorder();
  await relay.listen(recorder);
  proxy.let("toClients", "stall");
  // More than the kernel takes, and the server keeps.
  const piece = "x".repeat(100 * KIBIBYTE);
  await eventually(async () => await owner.call("PUBLISH", CHANNEL, piece) === 0, {
    what: "the server to cut it off",
    everyMs: 0,
  });
  proxy.let("toClients", "pass");
  await eventually(() => recorder.told === 1, { what: "the interruption to be told" });
  await owner.call("PUBLISH", CHANNEL, "heard");
  await eventually(() => recorder.heard.includes("heard"), { what: "a message" });
  assertEquals(recorder.told, 1);
  await relay.close();
});

onProxy("a connection whose peer has vanished is made anew, and told", async (server, proxy) => {
  const subscriber = (await through(proxy, server)).duplicate({ autoResubscribe: false });
  const ear = new Ear({
    subscriber,
    own: true,
    channel: CHANNEL,
    speaker: () => undefined,
    beatMs: 50,
  });
  const recorder = new RelayRecorder();
  await ear.add(recorder).confirmer.begin(undefined);
  const before = proxy.accepted;
  // Neither an end nor an answer comes any more, on the connections that there are.
  proxy.let("toBroker", "lose");
  await eventually(() => subscriber.status !== "ready", { what: "the connection to be given up" });
  proxy.let("toBroker", "pass");
  await eventually(() => recorder.told === 1, { what: "the interruption to be told" });
  assertEquals(proxy.accepted > before, true);
  await server.client().call("PUBLISH", CHANNEL, "heard");
  await eventually(() => recorder.heard.length > 0, { what: "a message" });
  ear.end(new RelayError("closed", "the test is over"));
});
