/**
 * What stands between one pod and its broker, and loses or holds back single frames: the connection
 * stays whole, and neither end sees a fault.
 *
 * @module
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import type { BrokerName, ClusterBroker } from "./cluster_broker.ts";
import { FrameSplitter, frameText } from "./cluster_frames.ts";

/** A frame on its way. */
export interface ClusterFrame {
  /** Which way it goes. */
  readonly way: "toBroker" | "toPod";
  /**
   * - `confirmation`: it confirms the pod's subscription.
   * - `event`: it carries an event, and `data` is what its data may be found in.
   */
  readonly kind: "confirmation" | "event" | "other";
  /** The whole frame, one character for each byte. */
  readonly data: string;
}

/** What becomes of a frame. What follows a frame that is held waits behind it. */
export type FrameFate = "pass" | "drop" | "hold";

/** One way of one connection. */
interface Lane {
  readonly way: ClusterFrame["way"];
  readonly to: Socket;
  readonly splitter: FrameSplitter;
  readonly held: Uint8Array[];
}

/** A proxy on a port of its own. */
export class ClusterProxy {
  /** Where it listens, on 127.0.0.1. */
  readonly port: number;
  /** Decides on each frame; all pass at first. */
  judge: (frame: ClusterFrame) => FrameFate = () => "pass";
  /** How many frames were dropped. */
  dropped = 0;
  readonly #broker: ClusterBroker;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #lanes = new Set<Lane>();

  private constructor(broker: ClusterBroker, server: Server, port: number) {
    this.#broker = broker;
    this.#server = server;
    this.port = port;
    server.on("connection", (pod: Socket) => this.#accept(pod));
  }

  /** Starts one in front of a broker. */
  static async start(broker: ClusterBroker): Promise<ClusterProxy> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("Cannot find its port");
    return new ClusterProxy(broker, server, address.port);
  }

  /** How many frames are held. */
  get held(): number {
    return [...this.#lanes].reduce((sum, { held }) => sum + held.length, 0);
  }

  /** Lets everything pass, what is held first. */
  release(): void {
    this.judge = () => "pass";
    for (const { held, to } of this.#lanes) {
      for (const bytes of held.splice(0)) if (!to.destroyed) to.write(bytes);
    }
  }

  /** Breaks every connection, and listens no more. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(pod: Socket): void {
    const { name, port } = this.#broker;
    const broker = connect({ host: "127.0.0.1", port });
    const reading = new Reading(name);
    const lanes: readonly (readonly [Socket, Lane])[] = [
      [pod, { way: "toBroker", to: broker, splitter: new FrameSplitter(name), held: [] }],
      [broker, { way: "toPod", to: pod, splitter: new FrameSplitter(name), held: [] }],
    ];
    for (const [from, lane] of lanes) {
      this.#sockets.add(from);
      this.#lanes.add(lane);
      // A broker that is away is what is tested.
      from.on("error", () => {});
      from.on("data", (bytes: Uint8Array) => this.#pass(lane, reading, bytes));
      from.on("close", () => {
        this.#sockets.delete(from);
        this.#lanes.delete(lane);
        lane.to.destroy();
      });
    }
  }

  #pass(lane: Lane, reading: Reading, bytes: Uint8Array): void {
    for (const frame of lane.splitter.feed(bytes)) {
      const fate = this.judge(reading.read(lane.way, frameText(frame)));
      if (fate === "drop") this.dropped++;
      else if (fate === "hold" || lane.held.length > 0) lane.held.push(frame);
      else if (!lane.to.destroyed) lane.to.write(frame);
    }
  }
}

/** What the frames of one connection mean. */
class Reading {
  readonly #name: BrokerName;
  #subscribed = false;

  constructor(name: BrokerName) {
    this.#name = name;
  }

  read(way: ClusterFrame["way"], data: string): ClusterFrame {
    return { way, kind: this.#kind(way, data), data };
  }

  #kind(way: ClusterFrame["way"], data: string): ClusterFrame["kind"] {
    if (data.includes('"k":"event"')) return "event";
    if (this.#name === "redis") {
      const confirms = way === "toPod" && data.startsWith("*3\r\n$9\r\nsubscribe\r\n");
      return confirms ? "confirmation" : "other";
    }
    // NATS says nothing to a subscription, but answers in order to what is asked after it.
    if (way === "toBroker" && /^SUB /i.test(data)) this.#subscribed = true;
    return way === "toPod" && this.#subscribed && /^PONG/i.test(data) ? "confirmation" : "other";
  }
}
