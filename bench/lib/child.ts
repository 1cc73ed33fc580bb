/**
 * A process that takes commands as lines of JSON and answers each with a line of JSON.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";

/** A line of JSON: an object. */
export type Message = Readonly<Record<string, unknown>>;

/** A running process. */
export interface Child {
  /** The first line it printed. */
  readonly ready: Message;
  /** Its id. */
  readonly pid: number;
  /**
   * Sends a command and waits for its answer. One at a time.
   *
   * @param command The command.
   * @param withinMs After how long to give up.
   * @returns The answer.
   * @throws {Error} When the process ended, answered `error`, or did not answer in time.
   */
  ask(command: Message, withinMs?: number): Promise<Message>;
  /** Ends the process: its input first, then, when it has not ended within 2 s, by a signal. */
  stop(): Promise<void>;
}

const DEADLINE_MS = 20_000;
const STOP_MS = 2_000;
const running = new Set<ChildProcess>();

// A benchmark that is interrupted must not leave servers behind.
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Starts a process and waits for its first line.
 *
 * @param command The program.
 * @param args Its arguments.
 * @returns The process.
 * @throws {Error} When it ends, or is silent for 20 s.
 */
export async function startChild(command: string, args: readonly string[]): Promise<Child> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
  running.add(child);
  let stderr = "";
  child.stderr.on("data", (bytes: unknown) => stderr = (stderr + String(bytes)).slice(-4000));
  // A command sent to a process that has ended; the loss is reported by `lines`.
  child.stdin.on("error", () => {});
  const lines = lineReader(child, () => `${command} ${args.join(" ")}\n${stderr}`);
  const ended = new Promise<void>((resolve) => {
    child.on("exit", () => {
      running.delete(child);
      resolve();
    });
  });
  const ready = await lines(DEADLINE_MS);
  return {
    ready,
    pid: child.pid ?? 0,
    ask(command, withinMs = DEADLINE_MS) {
      child.stdin.write(JSON.stringify(command) + "\n");
      return lines(withinMs);
    },
    async stop() {
      child.stdin.end();
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

function lineReader(
  child: ChildProcess,
  about: () => string,
): (withinMs: number) => Promise<Message> {
  const queue: Message[] = [];
  let wake: (() => void) | null = null;
  let over = false;
  const notify = (): void => wake?.();
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (!line.startsWith("{")) return;
      queue.push(JSON.parse(line) as Message);
      notify();
    });
  }
  child.on("close", () => {
    over = true;
    notify();
  });
  return async (withinMs) => {
    const deadline = Date.now() + withinMs;
    while (queue.length === 0) {
      if (over) throw new Error(`a process ended early: ${about()}`);
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`no answer within ${withinMs} ms: ${about()}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      wake = null;
    }
    const message = queue.shift() ?? {};
    if (typeof message.error === "string") throw new Error(`${message.error}: ${about()}`);
    return message;
  };
}

/**
 * Reads a number out of a message.
 *
 * @param message The message.
 * @param field The field's name.
 * @returns The number.
 * @throws {TypeError} When it is not one.
 */
export function numberIn(message: Message, field: string): number {
  const value = message[field];
  if (typeof value !== "number") throw new TypeError(`${field} is not a number`);
  return value;
}
