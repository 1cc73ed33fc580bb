/**
 * Ends programs, and removes a folder, when this process ends in whatever way: a browser started by a
 * test that was killed would run for ever.
 *
 * @module
 */

/** A tether. */
export interface Tether {
  /** Gives up watching: all was ended in good order. */
  release(): Promise<void>;
}

/** Waits for its standard input to end. A line means that there is nothing left to do. */
const SCRIPT = `
  folder=$1
  shift
  read -r line && exit 0
  kill -s KILL -- "$@"
  sleep 1
  rm -rf -- "$folder"
`;

/**
 * Ties programs to this process.
 *
 * @param folder The folder that they write to.
 * @param pids Their process ids; a negative one means a whole group.
 * @returns The tether.
 */
export function tether(folder: string, ...pids: readonly number[]): Tether {
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", SCRIPT, "sh", folder, ...pids.map(String)],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  return {
    async release() {
      await writer.write(new TextEncoder().encode("released\n")).catch(() => {});
      await writer.close().catch(() => {});
      await child.status;
    },
  };
}
