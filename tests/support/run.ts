/**
 * Running a program to its end. Runs under Deno.
 *
 * @module
 */

/** How a program ended. */
export interface RanToEnd {
  /** Its exit code; that of a killed one is not 0. */
  readonly code: number;
  /** What it wrote on stdout. */
  readonly stdout: string;
  /** What it wrote on stderr. */
  readonly stderr: string;
  /** Whether it was killed because its time was over. */
  readonly late: boolean;
}

/**
 * Runs a program, without colours in what it writes.
 *
 * @param program The program.
 * @param args Its arguments.
 * @param options After how many milliseconds it is killed, where it runs, and variables to add.
 * @returns How it ended.
 */
export async function runToEnd(
  program: string,
  args: readonly string[],
  options: {
    readonly timeoutMs: number;
    readonly cwd: URL;
    readonly env?: Readonly<Record<string, string>> | undefined;
  },
): Promise<RanToEnd> {
  const child = new Deno.Command(program, {
    args: [...args],
    cwd: options.cwd,
    env: { NO_COLOR: "1", ...options.env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, options.timeoutMs);
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr), late };
}
