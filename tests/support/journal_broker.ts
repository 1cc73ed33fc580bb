/**
 * The brokers in which a journal can be kept, as a test does them harm. Runs under Deno.
 *
 * @module
 */
import type { FixtureJournalOpener } from "../../src/testing/fixture/core.ts";
import { openJournal } from "../../src/testing/fixture/journals.ts";
import { askJetStream, NATS, NatsServer } from "./nats.ts";
import { DURABLE, REDIS_SERVER, startRedis } from "./redis.ts";

/** The journal's name in every broker. */
const NAME = "harmed";

/** A broker. */
export interface Broker {
  /** What `--journal` is told. */
  readonly spec: string;
  /** Opens the journal, on a connection of its own. */
  readonly open: FixtureJournalOpener;
  /** Ends it; its data stay. */
  down(): Promise<void>;
  /** Starts it again. */
  up(): Promise<void>;
  /** Makes it stand still, with its sockets open. */
  pause(): Promise<void>;
  /** Lets it go on. */
  resume(): void;
  /** Takes a copy of its data, and gives what puts it in the place of what is there then. */
  copy(): Promise<() => Promise<void>>;
  /** Takes everything away. */
  empty(): Promise<void>;
  /** Deletes every entry, as an operator may. */
  purge(): Promise<void>;
  /** Deletes what counts, or names, the sequence. */
  loseCounter(): Promise<void>;
  /** Ends it for good. */
  dispose(): Promise<void>;
}

/** A kind of broker. */
export interface BrokerKind {
  /** Its name. */
  readonly name: "redis" | "nats";
  /** The program. */
  readonly program: string;
  /** What `--journal` is told of a broker at a port. */
  spec(port: number): string;
  /** Starts one. */
  start(): Promise<Broker>;
}

/** Every kind. */
export const BROKERS: readonly BrokerKind[] = [
  { name: "redis", program: REDIS_SERVER, spec: redisSpec, start: startRedisBroker },
  { name: "nats", program: NATS, spec: natsSpec, start: startNatsBroker },
];

function redisSpec(port: number): string {
  return `redis:redis://127.0.0.1:${port}/${NAME}`;
}

function natsSpec(port: number): string {
  return `nats:nats://127.0.0.1:${port}/${NAME}`;
}

async function startRedisBroker(): Promise<Broker> {
  const server = await startRedis(DURABLE);
  const admin = server.client();
  const spec = redisSpec(server.port);
  const key = (name: string): string => `tidemark:{${NAME}}:${name}`;
  return {
    spec,
    open: () => openJournal(spec),
    down: () => server.stop("SIGKILL"),
    up: () => server.start(DURABLE),
    pause: () => Promise.resolve(server.signal("SIGSTOP")),
    resume: () => server.signal("SIGCONT"),
    async copy() {
      const path = await server.snapshot("copy.rdb");
      return () => server.restore(path);
    },
    async empty() {
      await admin.call("FLUSHALL");
    },
    async purge() {
      await admin.call("XTRIM", key("log"), "MAXLEN", "0");
    },
    async loseCounter() {
      await admin.call("DEL", key("meta"));
    },
    dispose: () => server.dispose(),
  };
}

async function startNatsBroker(): Promise<Broker> {
  const server = await NatsServer.start();
  const spec = `nats:nats://${server.address}/${NAME}`;
  const operate = async (verb: string, body?: object): Promise<void> => {
    await askJetStream(await server.connect(), verb, body);
  };
  return {
    spec,
    open: () => openJournal(spec),
    down: () => server.down("SIGKILL"),
    up: () => server.up(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    async copy() {
      const copy = await server.copy();
      return () => server.replace(copy);
    },
    empty: () => server.replace(),
    purge: () => operate(`STREAM.PURGE.${NAME}`, {}),
    loseCounter: () => operate(`STREAM.DELETE.KV_${NAME}_epoch`),
    dispose: () => server.stop(),
  };
}
