import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { connect, type ConnectionOptions, type NatsConnection } from "@nats-io/transport-node";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RelayError } from "../../src/errors/relay.ts";
import { createNatsRelay } from "../../src/relay/nats.ts";
import type { Relay } from "../../src/relay/relay.ts";
import { BrokerProxy } from "../support/broker_proxy.ts";
import { NATS, NatsServer } from "../support/nats.ts";
import { eventually } from "../support/poll.ts";
import { collectErrors, RelayRecorder, say, throwing } from "../support/relay_recorder.ts";
import { test } from "../support/test.ts";

const SUBJECT = "events.all";
const KIBIBYTE = 1024;

/** What a test works with. */
interface World {
  readonly server: NatsServer;
  readonly proxy: BrokerProxy;
  /** Connects; through the proxy unless told otherwise. */
  connect(options?: ConnectionOptions): Promise<NatsConnection>;
  /** Connects and makes a relay. */
  relay(options?: ConnectionOptions): Promise<Relay>;
  /** Rewrites the configuration, for the next start. */
  configure(text: string): void;
}

function onNats(name: string, body: (world: World) => Promise<void>, config = ""): void {
  test(`NATS: ${name}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "relay-"));
    const file = join(folder, "nats.conf");
    writeFileSync(file, config);
    const server = await NatsServer.start(["-c", file]);
    const proxy = await BrokerProxy.start(portOf(server));
    const connections: NatsConnection[] = [];
    const world: World = {
      server,
      proxy,
      async connect(options = {}) {
        const connection = await connect({
          servers: `127.0.0.1:${proxy.port}`,
          maxReconnectAttempts: -1,
          reconnectTimeWait: 20,
          reconnectJitter: 0,
          ...options,
        });
        connections.push(connection);
        return connection;
      },
      relay: async (options) =>
        createNatsRelay({ connection: await world.connect(options) }, { subject: SUBJECT }),
      configure: (text) => writeFileSync(file, text),
    };
    try {
      await body(world);
    } finally {
      await Promise.all(connections.map((connection) => connection.close()));
      await proxy.stop();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  }, { needs: [NATS], foreignTimers: true });
}

onNats("a server that is killed and comes back is told once, and relays again", async (world) => {
  const [one, other] = [await world.relay(), await world.relay()];
  const [ear, witness] = [new RelayRecorder(), new RelayRecorder()];
  await Promise.all([one.listen(ear), other.listen(witness)]);
  for (const time of [1, 2]) {
    await world.server.restart("SIGKILL");
    await eventually(() => ear.told === time && witness.told === time, { what: "both to be told" });
    one.send(say(`after ${time}`));
    const heard = (recorder: RelayRecorder): boolean => recorder.heard.includes(`after ${time}`);
    await eventually(() => heard(ear) && heard(witness), { what: "the message" });
  }
  assertEquals([ear.told, witness.told], [2, 2]);
  assertEquals([ear.heard, witness.heard], [["after 1", "after 2"], ["after 1", "after 2"]]);
});

onNats("while the server stands still a bounded number of bytes wait", async (world) => {
  const recorder = new RelayRecorder();
  await (await world.relay()).listen(recorder);
  const connection = await world.connect();
  const options = { subject: SUBJECT, maxPendingBytes: 64 * KIBIBYTE };
  const relay = createNatsRelay({ connection }, options);
  relay.send(say("before"));
  await eventually(() => recorder.heard.length === 1, { what: "the first message" });
  await world.server.pause();
  for (let n = 0; n < 1000; n++) relay.send(say(`${n} `.padEnd(16 * KIBIBYTE, ".")));
  world.server.resume();
  // What was taken frees its room; until then it would be dropped.
  await eventually(() => {
    relay.send(say("after"));
    return recorder.heard.includes("after");
  }, { what: "a message to come through again" });
  const numbers = recorder.heard.filter((text) => /^\d/.test(text)).map((text) => parseInt(text));
  assertEquals(numbers, [0, 1, 2, 3].slice(0, numbers.length), "the first ones, in their order");
  assertEquals(numbers.length >= 3, true, "as many as there is room for");
  assertEquals(recorder.told, 0, "no connection was lost");
});

onNats("a message larger than what may wait goes alone", async (world) => {
  const recorder = new RelayRecorder();
  await (await world.relay()).listen(recorder);
  const connection = await world.connect();
  const relay = createNatsRelay({ connection }, { subject: SUBJECT, maxPendingBytes: KIBIBYTE });
  for (const size of [100, 200]) {
    const text = "x".repeat(size * KIBIBYTE);
    await eventually(() => {
      if (recorder.heard.at(-1) !== text) relay.send(say(text));
      return recorder.heard.at(-1) === text;
    }, { what: "the large message" });
  }
});

onNats("a subscription is confirmed when the server has said so, not before", async (world) => {
  const relay = await world.relay();
  world.proxy.let("toClients", "hold");
  let confirmed = false;
  const listening = relay.listen(new RelayRecorder()).then(() => confirmed = true);
  await eventually(() => world.proxy.held("toClients") > 0, { what: "the answer to be held" });
  assertEquals(confirmed, false);
  world.proxy.let("toClients", "pass");
  await listening;
});

onNats("after a reconnection it is told when the server has said so, not before", async (world) => {
  const [relay, sender] = [
    await world.relay(),
    createNatsRelay({
      connection: await world.server.connect(),
    }, { subject: SUBJECT }),
  ];
  const recorder = new RelayRecorder();
  await relay.listen(recorder);
  world.proxy.let("toBroker", "hold");
  world.proxy.breakAll();
  await eventually(() => world.proxy.held("toBroker") > 0, {
    what: "the client to introduce itself",
  });
  assertEquals(recorder.told, 0);
  sender.send(say("lost"));
  relay.send(say("not kept"));
  world.proxy.let("toBroker", "pass");
  await eventually(() => recorder.told === 1, { what: "the interruption to be told" });
  sender.send(say("heard"));
  await eventually(() => recorder.heard.length > 0, { what: "a message" });
  assertEquals(recorder.heard, ["heard"]);
});

/** Whoever has no user may do everything: the helpers, and the sender. */
function users(deaf: string, mute: string): string {
  return `authorization {
    users: [
      { user: all, password: x }
      { user: deaf, password: x, permissions: { ${deaf} } }
      { user: mute, password: x, permissions: { ${mute} } }
    ]
  }
  no_auth_user: all`;
}

const DENIED = users(`subscribe: { deny: "events.>" }`, `publish: { deny: "events.>" }`);

onNats("who may not listen, or not speak, is refused, and no one else", async (world) => {
  for (const user of ["deaf", "mute"]) {
    const relay = await world.relay({ user, pass: "x" });
    const error = await assertRejects(() => relay.listen(new RelayRecorder()), RelayError);
    assertEquals(error.fault, "failed", user);
    assertEquals(String(error.cause).includes(SUBJECT), true, String(error.cause));
  }
  const recorder = new RelayRecorder();
  const relay = await world.relay();
  await relay.listen(recorder);
  relay.send(say("heard"));
  await eventually(() => recorder.heard.length > 0, { what: "a message" });
}, DENIED);

onNats("a permission that is taken away and given back is an interruption", async (world) => {
  const recorder = new RelayRecorder();
  const relay = await world.relay({ user: "deaf", pass: "x" });
  await relay.listen(recorder);
  world.configure(DENIED);
  await world.server.restart();
  const connection = await world.server.connect();
  await eventually(() => world.proxy.connections === 1, { what: "the pod to reconnect" });
  // The server itself says whether anybody listens.
  await assertRejects(
    () => connection.request(SUBJECT, "", { timeout: 1000 }),
    Error,
    "responders",
  );
  assertEquals(recorder.told, 0);
  world.configure(users("", ""));
  await world.server.restart();
  await eventually(() => recorder.told === 1, { what: "the interruption to be told" });
  relay.send(say("heard"));
  await eventually(() => recorder.heard.length > 0, { what: "a message" });
  assertEquals([recorder.heard, recorder.told], [["heard"], 1]);
}, users("", ""));

onNats("a pod that reads too slowly is cut off by the server, and told", async (world) => {
  const recorder = new RelayRecorder();
  await (await world.relay()).listen(recorder);
  const connection = await world.server.connect();
  const sender = createNatsRelay({ connection }, { subject: SUBJECT });
  world.proxy.let("toClients", "stall");
  // More than the kernel takes, and the server keeps.
  for (let mebibytes = 0; mebibytes < 20; mebibytes++) {
    for (let n = 0; n < 10; n++) sender.send(new Uint8Array(102 * KIBIBYTE));
    await connection.flush();
  }
  world.proxy.let("toClients", "pass");
  await eventually(() => recorder.told === 1, { what: "the interruption to be told" });
  assertEquals(world.proxy.accepted, 2, "a connection was made anew");
  assertEquals(recorder.heard.length < 200, true, "some were lost");
  sender.send(say("heard"));
  await eventually(() => recorder.heard.includes("heard"), { what: "a message" });
  assertEquals(recorder.told, 1);
}, `max_pending: 1MB\nwrite_deadline: "200ms"`);

onNats("the bound of a message is the server's", async (world) => {
  const relay = await world.relay();
  assertEquals(relay.maxBytes, 5000);
  const recorder = new RelayRecorder();
  await relay.listen(recorder);
  const error = assertThrows(() => relay.send(new Uint8Array(5001)), RelayError);
  assertEquals(error.fault, "too_large");
  relay.send(say("x".repeat(5000)));
  await eventually(() => recorder.heard.length > 0, { what: "a message of just that size" });
  await world.server.down();
  assertEquals(relay.maxBytes, 5000, "what was known last");
}, "max_payload: 5000");

onNats("the connection stays the application's own", async (world) => {
  const connection = await world.connect();
  const relay = createNatsRelay({ connection }, { subject: SUBJECT });
  await relay.listen(new RelayRecorder());
  await relay.close();
  await connection.flush();
  assertEquals(connection.isClosed(), false);
  const other = createNatsRelay({ connection }, { subject: SUBJECT });
  await connection.close();
  const error = assertThrows(() => other.send(say("too late")), RelayError);
  assertEquals(error.fault, "closed");
  const rejected = await assertRejects(() => other.listen(new RelayRecorder()), RelayError);
  assertEquals(rejected.fault, "closed");
});

onNats("an attempt ends when its connection is closed for good", async (world) => {
  const connection = await world.connect();
  const relay = createNatsRelay({ connection }, { subject: SUBJECT });
  world.proxy.cut();
  const rejected = assertRejects(() => relay.listen(new RelayRecorder()), RelayError);
  await connection.close();
  assertEquals((await rejected).fault, "closed");
});

onNats("a connection that hears no echo of its own will do", async (world) => {
  const [one, other] = [await world.relay({ noEcho: true }), await world.relay({ noEcho: true })];
  const [ear, witness] = [new RelayRecorder(), new RelayRecorder()];
  await Promise.all([one.listen(ear), other.listen(witness)]);
  one.send(say("hello"));
  await eventually(() => witness.heard.length > 0, { what: "a message" });
  assertEquals([ear.heard, witness.heard], [[], ["hello"]]);
});

onNats(
  "a listener that throws harms neither the connection nor another listener",
  async (world) => {
    const relay = await world.relay();
    const recorder = new RelayRecorder();
    const errors = await collectErrors(async () => {
      await relay.listen(throwing());
      await relay.listen(recorder);
      for (const text of ["1", "2"]) relay.send(say(text));
      await eventually(() => recorder.heard.length === 2, { what: "the messages" });
    });
    assertEquals(errors.length, 2);
    assertEquals([recorder.heard, recorder.told], [["1", "2"], 0]);
  },
);

function portOf({ address }: NatsServer): number {
  return Number(address.split(":")[1]);
}
