import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { RelayError } from "../../src/errors/relay.ts";
import { createRedisRelay } from "../../src/relay/redis.ts";
import { eventually } from "../support/poll.ts";
import { onRedis } from "../support/redis.ts";
import { collectErrors, RelayRecorder, say, throwing } from "../support/relay_recorder.ts";
import { CHANNEL, direct, onProxy, through } from "./relay_redis_world.ts";

onProxy(
  "a subscription is confirmed when the server has said so, not before",
  async (server, proxy) => {
    const relay = createRedisRelay(await through(proxy, server), { channel: CHANNEL });
    proxy.let("toClients", "hold");
    let confirmed = false;
    const listening = relay.listen(new RelayRecorder()).then(() => confirmed = true);
    await eventually(() => proxy.held("toClients") > 0, { what: "the answer to be held" });
    assertEquals(confirmed, false);
    proxy.let("toClients", "pass");
    await listening;
    await relay.close();
  },
);

onProxy("a pod is back when it is heard, too, not only when it hears", async (server, proxy) => {
  const client = await through(proxy, server);
  const relay = createRedisRelay(client, { channel: CHANNEL, subscriber: server.client() });
  proxy.cut();
  await eventually(() => client.status !== "ready", { what: "the connection to break" });
  const recorder = new RelayRecorder();
  let confirmed = false;
  const listening = relay.listen(recorder).then(() => confirmed = true);
  const subscribers = (): Promise<unknown> => server.client().call("PUBSUB", "NUMSUB", CHANNEL);
  assertEquals([confirmed, await subscribers()], [false, [CHANNEL, 0]]);
  proxy.mend();
  await listening;
  relay.send(say("heard"));
  await eventually(() => recorder.heard.length > 0, { what: "the first message" });
  await relay.close();
});

onRedis("who may not listen is refused", async (server) => {
  const owner = server.client();
  const may = ["on", ">x", "+@all", "resetchannels", "&other"];
  await owner.call("ACL", "SETUSER", "deaf", ...may);
  const client = server.client({ username: "deaf", password: "x" });
  const relay = createRedisRelay(client, { channel: CHANNEL });
  const error = await assertRejects(() => relay.listen(new RelayRecorder()), RelayError);
  assertEquals([error.fault, String(error.cause).includes("NOPERM")], ["failed", true]);
  await relay.close();
});

onRedis("a permission that is taken away and given back is an interruption", async (server) => {
  const owner = server.client();
  const permit = (channels: string): Promise<unknown> =>
    owner.call("ACL", "SETUSER", "pod", "on", ">x", "+@all", "resetchannels", channels);
  await permit("allchannels");
  const relay = createRedisRelay(server.client({ username: "pod", password: "x" }), {
    channel: CHANNEL,
  });
  const recorder = new RelayRecorder();
  await relay.listen(recorder);
  // Redis cuts off who listens to what it may no longer.
  await permit("&other");
  const subscribers = (): Promise<unknown> => owner.call("PUBSUB", "NUMSUB", CHANNEL);
  await eventually(async () => JSON.stringify(await subscribers()) === `["${CHANNEL}",0]`, {
    what: "the pod to be cut off",
  });
  assertEquals(recorder.told, 0);
  await permit("allchannels");
  await eventually(() => recorder.told === 1, { what: "the interruption to be told" });
  await owner.call("PUBLISH", CHANNEL, "heard");
  await eventually(() => recorder.heard.length > 0, { what: "a message" });
  assertEquals([recorder.heard, recorder.told], [["heard"], 1]);
  await relay.close();
});

onRedis("the client stays the application's own; what was made from it ends", async (server) => {
  const client = server.client();
  const names = async (): Promise<number> =>
    String(await client.call("CLIENT", "LIST", "TYPE", "pubsub")).split("\n").filter(Boolean)
      .length;
  const relay = createRedisRelay(client, { channel: CHANNEL });
  assertEquals(await names(), 0, "nothing is connected before somebody listens");
  await relay.listen(new RelayRecorder());
  assertEquals(await names(), 1);
  await relay.close();
  await eventually(async () => await names() === 0, { what: "the duplicate to end" });
  assertEquals(await client.ping(), "PONG");
});

onRedis("a connection that is handed in goes on, and serves other channels too", async (server) => {
  const [client, subscriber] = [server.client(), server.client()];
  const others: string[] = [];
  await subscriber.subscribe("other");
  subscriber.on("message", (channel, message) => others.push(`${channel}: ${message}`));
  const relay = createRedisRelay(client, { channel: CHANNEL, subscriber });
  const recorder = new RelayRecorder();
  await relay.listen(recorder);
  await client.publish("other", "not for the relay");
  relay.send(say("for the relay"));
  await eventually(() => recorder.heard.length > 0, { what: "the relay's message" });
  assertEquals(recorder.heard, ["for the relay"]);
  await relay.close();
  await eventually(
    async () => String(await client.call("PUBSUB", "CHANNELS")) === "other",
    { what: "the relay to unsubscribe" },
  );
  await client.publish("other", "still there");
  await eventually(() => others.includes("other: still there"), { what: "the other channel" });
});

onRedis(
  "a listener that throws harms neither the connection nor another listener",
  async (server) => {
    const relay = direct(server);
    const recorder = new RelayRecorder();
    const errors = await collectErrors(async () => {
      await relay.listen(throwing());
      await relay.listen(recorder);
      for (const text of ["1", "2"]) relay.send(say(text));
      await eventually(() => recorder.heard.length === 2, { what: "the messages" });
    });
    assertEquals(errors.length, 2);
    assertEquals([recorder.heard, recorder.told], [["1", "2"], 0]);
    await relay.close();
  },
);

onRedis("a client that has ended for good has closed the relay", async (server) => {
  const client = server.client();
  await client.ping();
  const relay = createRedisRelay(client, { channel: CHANNEL });
  client.disconnect();
  await eventually(() => client.status === "end", { what: "the client to end" });
  const error = assertThrows(() => relay.send(say("too late")), RelayError);
  assertEquals(error.fault, "closed");
  const rejected = await assertRejects(() => relay.listen(new RelayRecorder()), RelayError);
  assertEquals(rejected.fault, "closed");
});
