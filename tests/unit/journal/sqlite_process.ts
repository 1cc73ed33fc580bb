/**
 * Starts a process that has a journal open, on the runtime of the test.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Bell } from "../../../src/journal/bell.ts";

const PROGRAM = fileURLToPath(new URL("./sqlite_child.ts", import.meta.url));
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const START_MS = 20_000;

/** What stands before the program's path. */
const ARGUMENTS: readonly string[] = "Deno" in globalThis
  ? ["run", "--quiet", "--no-check", "--allow-all"]
  : "Bun" in globalThis
  ? ["run"]
  : ["--no-warnings", ...process.execArgv];

/** A process that has a journal open. */
export class JournalProcess {
  readonly #child: ChildProcess;
  readonly #bell = new Bell();
  readonly #ended: Promise<void>;
  /** Every line that it has written. */
  readonly lines: string[] = [];

  private constructor(command: string, path: string) {
    this.#child = spawn(process.execPath, [...ARGUMENTS, PROGRAM, command, path], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const { stdout } = this.#child;
    if (stdout === null) throw new Error("Cannot read what the process says");
    createInterface({ input: stdout }).on("line", (line) => {
      this.lines.push(line);
      this.#bell.ring();
    });
    this.#ended = new Promise((resolve) => this.#child.on("close", () => resolve()));
  }

  /**
   * Starts one.
   *
   * @param command `hold` or `append`.
   * @param path The database.
   * @returns The process, once it has written its first line.
   */
  static async start(command: "hold" | "append", path: string): Promise<JournalProcess> {
    const started = new JournalProcess(command, path);
    await started.until(1);
    return started;
  }

  /**
   * Waits for what it writes.
   *
   * @param count How many lines.
   * @throws {Error} When it takes too long.
   */
  async until(count: number): Promise<void> {
    const late = AbortSignal.timeout(START_MS);
    while (this.lines.length < count) {
      if (late.aborted) {
        await this.kill();
        throw new Error(
          `Waited in vain for ${count} lines of a process, it wrote ${this.lines.length}`,
        );
      }
      await this.#bell.wait(START_MS, late);
    }
  }

  /** Kills it by SIGKILL, and reads what it wrote before. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
