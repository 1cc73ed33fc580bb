/**
 * The side of a server that the benchmark talks to: commands on stdin, answers on stdout. The same
 * for every server, so that only the way of an event to its sockets differs.
 *
 * @module
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { type BenchEvent, loadEvent } from "../fixtures.ts";

/** A server under measurement. */
export interface BenchServer {
  /** The port on 127.0.0.1 that it listens on. */
  readonly port: number;
  /** The epoch of its cursors, where it has one. */
  readonly epoch?: string;
  /**
   * Publishes one event to every connection.
   *
   * @param sequence Its number, from 1, without a hole: the offset that its cursor must carry.
   * @param event The event.
   */
  publish(sequence: number, event: BenchEvent): void;
  /** How many streams are open. */
  connections(): number;
}

interface Command {
  readonly do?: unknown;
  readonly bursts?: unknown;
  readonly size?: unknown;
  readonly everyMs?: unknown;
}

/**
 * Prints the port and answers commands until the input ends; then the process exits.
 *
 * - `{"do":"publish","bursts":n,"size":n,"everyMs":n}`: that many bursts, evenly spaced.
 * - `{"do":"usage"}`: CPU of the whole process in microseconds, memory, connections.
 * - `{"do":"collect"}`: collects garbage where the runtime lets a program do so.
 *
 * @param server The server.
 */
export function control(server: BenchServer): void {
  let sequence = 0;
  const publish = async (command: Command): Promise<object> => {
    const from = sequence + 1;
    const start = performance.now();
    for (let burst = 0; burst < Number(command.bursts); burst++) {
      await until(start + burst * Number(command.everyMs));
      for (let i = 0; i < Number(command.size); i++) {
        sequence++;
        server.publish(sequence, loadEvent(sequence, Date.now()));
      }
    }
    return { from, to: sequence, tookMs: performance.now() - start };
  };
  const answer = (command: Command): object | Promise<object> => {
    switch (command.do) {
      case "publish":
        return publish(command);
      case "usage":
        return { ...usage(), connections: server.connections() };
      case "collect":
        return { collected: collect() };
      default:
        return { error: `an unknown command: ${String(command.do)}` };
    }
  };
  const print = (message: object): void =>
    void process.stdout.write(JSON.stringify(message) + "\n");
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    Promise.resolve(line)
      .then((text) => answer(JSON.parse(text) as Command))
      .then(print, (error: unknown) => print({ error: String(error) }));
  });
  lines.on("close", () => process.exit(0));
  print({ port: server.port, epoch: server.epoch ?? null });
}

function until(at: number): Promise<void> {
  const left = at - performance.now();
  return left <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, left));
}

/** User and system time of all threads, as getrusage counts them, and the resident set. */
function usage(): { cpuMicros: number; rssBytes: number } {
  const { user, system } = process.cpuUsage();
  return { cpuMicros: user + system, rssBytes: process.memoryUsage().rss };
}

function collect(): boolean {
  const host = globalThis as { gc?: () => void; Bun?: { gc(sync: boolean): void } };
  if (host.Bun !== undefined) host.Bun.gc(true);
  else if (host.gc !== undefined) host.gc();
  else return false;
  return true;
}
