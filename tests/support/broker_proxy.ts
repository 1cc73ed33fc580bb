/**
 * What stands between clients and a broker, and does to their connections what a network does: cuts
 * them, holds back what goes one way, or swallows it. Runs on Deno, Bun and Node.
 *
 * @module
 */
import { connect, createServer, type Server, type Socket } from "node:net";

/** One way through the proxy. */
export type Way = "toBroker" | "toClients";

/**
 * What becomes of the bytes that go one way: they are passed on, held until they are, or lost; or the
 * proxy does not even read them, and they pile up with who sends them.
 */
export type Passing = "pass" | "hold" | "lose" | "stall";

/** One client's connection. */
interface Pair {
  readonly client: Socket;
  readonly broker: Socket;
}

/** A TCP proxy on a port of its own. */
export class BrokerProxy {
  /** Where it listens, on 127.0.0.1. */
  readonly port: number;
  readonly #server: Server;
  readonly #brokerPort: number;
  readonly #pairs = new Set<Pair>();
  readonly #passing: Record<Way, Passing> = { toBroker: "pass", toClients: "pass" };
  readonly #held: Record<Way, { readonly to: Socket; readonly bytes: Uint8Array }[]> = {
    toBroker: [],
    toClients: [],
  };
  #cut = false;
  #accepted = 0;

  private constructor(server: Server, port: number, brokerPort: number) {
    this.#server = server;
    this.port = port;
    this.#brokerPort = brokerPort;
    server.on("connection", (client: Socket) => this.#accept(client));
  }

  /**
   * Starts one.
   *
   * @param brokerPort Where the broker listens, on 127.0.0.1; it need not be up yet.
   */
  static async start(brokerPort: number): Promise<BrokerProxy> {
    const server = createServer({ allowHalfOpen: false });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("Cannot find its port");
    return new BrokerProxy(server, address.port, brokerPort);
  }

  /** How many connections go through it now. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** How many connections have been made through it; those that it refused do not count. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Breaks every connection, and refuses new ones until {@linkcode BrokerProxy.mend}. */
  cut(): void {
    this.#cut = true;
    this.breakAll();
  }

  /** Breaks every connection; new ones are taken. */
  breakAll(): void {
    for (const pair of [...this.#pairs]) this.#end(pair);
  }

  /** Takes new connections again. */
  mend(): void {
    this.#cut = false;
  }

  /**
   * Says what becomes of the bytes that go one way, on every connection, from now on. What was held is
   * passed on when they pass again, and lost when they are lost.
   *
   * @param way Which way.
   * @param passing What becomes of them.
   */
  let(way: Way, passing: Passing): void {
    this.#passing[way] = passing;
    for (const pair of this.#pairs) this.#flow(pair);
    if (passing === "hold" || passing === "stall") return;
    for (const { to, bytes } of this.#held[way].splice(0)) {
      if (passing === "pass" && !to.destroyed) to.write(bytes);
    }
  }

  /** How many bytes are held, that go one way. */
  held(way: Way): number {
    return this.#held[way].reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Breaks every connection, and listens no more. */
  async stop(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(client: Socket): void {
    // A broken connection is what is tested.
    client.on("error", () => {});
    if (this.#cut) {
      client.destroy();
      return;
    }
    const broker = connect({ host: "127.0.0.1", port: this.#brokerPort });
    broker.on("error", () => {});
    const pair: Pair = { client, broker };
    this.#accepted++;
    this.#pairs.add(pair);
    client.on("data", (bytes: Uint8Array) => this.#pass("toBroker", broker, bytes));
    broker.on("data", (bytes: Uint8Array) => this.#pass("toClients", client, bytes));
    client.on("close", () => this.#end(pair));
    broker.on("close", () => this.#end(pair));
    this.#flow(pair);
  }

  #flow({ client, broker }: Pair): void {
    for (const [way, from] of [["toBroker", client], ["toClients", broker]] as const) {
      if (this.#passing[way] === "stall") from.pause();
      else from.resume();
    }
  }

  #pass(way: Way, to: Socket, bytes: Uint8Array): void {
    const passing = this.#passing[way];
    // What was read before it stalled is kept as if it had not been.
    if (passing === "hold" || passing === "stall") {
      this.#held[way].push({ to, bytes: new Uint8Array(bytes) });
    } else if (passing === "pass" && !to.destroyed) {
      to.write(bytes);
    }
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.broker.destroy();
  }
}
