/**
 * A client of a stream in a process of its own: it can be killed, stopped and continued as no socket
 * in the test's own process can.
 *
 * @module
 */

/** A client in a process of its own. */
export interface PeerProcess {
  /** The process. */
  readonly pid: number;
  /**
   * Sends it a signal.
   *
   * @param signal `SIGSTOP` stops it from reading, `SIGCONT` lets it read on, `SIGKILL` ends it.
   */
  signal(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void;
  /** Ends it, whatever it does. A second call does nothing. */
  close(): Promise<void>;
}

const PROGRAM = new URL("./peer_main.ts", import.meta.url).pathname;
const START_MS = 20_000;

/**
 * Starts a client that reads all it is sent.
 *
 * @param url The stream.
 * @param tag Its tag.
 * @returns The client, once it has read its hello.
 * @throws When it ended before, or took too long.
 */
export async function startPeer(url: string, tag: string): Promise<PeerProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-config", "--allow-net", PROGRAM, url, tag],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const signal = (name: Deno.Signal): void => {
    try {
      child.kill(name);
    } catch {
      // It has ended already.
    }
  };
  const close = async (): Promise<void> => {
    signal("SIGKILL");
    await child.status;
    await child.stdout.cancel();
  };
  const timer = setTimeout(() => signal("SIGKILL"), START_MS);
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  clearTimeout(timer);
  if (value === undefined) {
    await close();
    throw new Error(`The peer ended before it read the hello of ${url}`);
  }
  return { pid: child.pid, signal, close };
}
