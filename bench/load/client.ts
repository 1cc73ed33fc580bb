/**
 * The load: many connections over raw sockets in one process of Node. It counts the mark that stands
 * once in each frame, so it needs to understand neither chunks nor lines, and keeps every byte of
 * three connections, the first, the middle and the last one opened, to be read in full afterwards.
 *
 * Commands on stdin, answers on stdout:
 * - `{"do":"connect","port":n,"path":"…","count":n,"cursor":"…","each":n}`: opens streams until each
 *   sent its first bytes; counts from there, as after `arm`.
 * - `{"do":"arm","each":n}`: starts counting from nothing; each stream is to get that many frames.
 * - `{"do":"wait","each":n,"withinMs":n}`: waits until each stream has that many frames.
 * - `{"do":"close"}`: closes all.
 */
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { createInterface } from "node:readline";
import { MARK } from "../fixtures.ts";
import { readProbe } from "./probe.ts";

const MARK_BYTE = MARK.charCodeAt(0);
const HEAD_END = "\r\n\r\n";
/** How many connections may be opening at once: fewer than any runtime's accept queue. */
const OPENING = 64;
/** How long the streams may stay silent after the last frame, so that one too many is seen. */
const AFTER_MS = 30;

/** A connection whose bytes are kept. */
interface Probe {
  /** Whether the response's head is among them. */
  readonly head: boolean;
  readonly chunks: Buffer[];
  readonly arrivals: number[];
}

interface Stream {
  readonly socket: Socket;
  frames: number;
  closed: boolean;
  probe: Probe | null;
}

let streams: Stream[] = [];
/** One buffer for all: what is read is counted before the next read. */
const shared = Buffer.alloc(64 * 1024);
let expected = 0;
/** How many streams have what is expected, so that waiting costs no scan. */
let complete = 0;

function count(stream: Stream, bytes: Buffer): void {
  const now = stream.probe === null ? 0 : Date.now();
  let at = bytes.indexOf(MARK_BYTE);
  while (at !== -1) {
    stream.frames++;
    if (stream.frames === expected) complete++;
    stream.probe?.arrivals.push(now);
    at = bytes.indexOf(MARK_BYTE, at + 1);
  }
  stream.probe?.chunks.push(Buffer.from(bytes));
}

function open(port: number, path: string, headers: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let first = true;
    const stream: Stream = {
      frames: 0,
      closed: false,
      probe: streams.length === 0 ? { head: true, chunks: [], arrivals: [] } : null,
      socket: connect({
        port,
        host: "127.0.0.1",
        noDelay: true,
        onread: {
          buffer: shared,
          callback(length, buffer) {
            count(stream, Buffer.from(buffer.buffer, buffer.byteOffset, length));
            if (first) {
              first = false;
              resolve();
            }
            return true;
          },
        },
      }),
    };
    stream.socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`);
    stream.socket.on("error", reject);
    stream.socket.on("close", () => {
      stream.closed = true;
      reject(new Error("a stream closed before its first byte"));
    });
    streams.push(stream);
  });
}

interface Command {
  readonly do?: unknown;
  readonly port?: unknown;
  readonly path?: unknown;
  readonly cursor?: unknown;
  readonly count?: unknown;
  readonly each?: unknown;
  readonly withinMs?: unknown;
}

async function connectAll(command: Command): Promise<object> {
  const headers = typeof command.cursor === "string" ? `Last-Event-ID: ${command.cursor}\r\n` : "";
  const total = streams.length + Number(command.count);
  expected = Number(command.each ?? 0);
  complete = 0;
  const worker = async (): Promise<void> => {
    while (streams.length < total) await open(Number(command.port), String(command.path), headers);
  };
  await Promise.all(Array.from({ length: OPENING }, worker));
  return { connected: streams.length };
}

function arm(each: number): object {
  const probes = new Set([0, streams.length >> 1, streams.length - 1]);
  streams.forEach((stream, i) => {
    stream.frames = 0;
    stream.probe = probes.has(i) ? { head: false, chunks: [], arrivals: [] } : null;
  });
  expected = each;
  complete = 0;
  return { armed: streams.length };
}

async function wait(command: Command): Promise<object> {
  const deadline = Date.now() + Number(command.withinMs);
  while (expected > 0 && complete < streams.length && Date.now() < deadline) await sleep(2);
  await sleep(AFTER_MS);
  const counts = streams.map((stream) => stream.frames);
  const probes = streams.flatMap(({ probe }) => probe === null ? [] : [probe]);
  const read = probes.map(({ head, chunks, arrivals }) => {
    const bytes = Buffer.concat(chunks);
    return readProbe(head ? bytes.subarray(bytes.indexOf(HEAD_END) + 4) : bytes, arrivals);
  });
  return {
    least: Math.min(...counts),
    most: Math.max(...counts),
    total: counts.reduce((sum, n) => sum + n, 0),
    closed: streams.filter(({ closed }) => closed).length,
    wrong: read.flatMap(({ wrong }) => wrong === null ? [] : [wrong]),
    delaysMs: read.flatMap(({ delaysMs }) => delaysMs),
  };
}

function close(): object {
  for (const { socket } of streams) socket.destroy();
  const closed = streams.length;
  streams = [];
  return { closed };
}

function answer(command: Command): object | Promise<object> {
  switch (command.do) {
    case "connect":
      return connectAll(command);
    case "arm":
      return arm(Number(command.each));
    case "wait":
      return wait(command);
    case "close":
      return close();
    case "usage": {
      const { user, system } = process.cpuUsage();
      return { cpuMicros: user + system };
    }
    default:
      return { error: `an unknown command: ${String(command.do)}` };
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const print = (message: object): void => void process.stdout.write(JSON.stringify(message) + "\n");
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  Promise.resolve(line)
    .then((text) => answer(JSON.parse(text) as Command))
    .then(print, (error: unknown) => print({ error: String(error) }));
});
lines.on("close", () => process.exit(0));
print({ client: process.version });
