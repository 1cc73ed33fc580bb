/**
 * An X display of one's own, for a browser that cannot do without a window.
 *
 * @module
 */
import { within } from "../../suites/lib/within.ts";

/** A display. */
export interface Display {
  /** What `DISPLAY` is to be. */
  readonly name: string;
  /** Its process. */
  readonly pid: number;
  /** Ends it, and with it every program that shows something on it. */
  close(): Promise<void>;
}

const START_MS = 10_000;

/**
 * Starts a display on a number that is free.
 *
 * @param program The X server.
 * @returns The display, once it takes programs.
 */
export async function startDisplay(program = "Xvfb"): Promise<Display> {
  const child = new Deno.Command(program, {
    args: ["-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  const close = async (): Promise<void> => {
    try {
      child.kill("SIGTERM");
    } catch {
      // It has ended by itself.
    }
    await child.status;
    await reader.cancel();
  };
  try {
    const number = await within(START_MS, async () => {
      let text = "";
      while (!text.endsWith("\n")) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`${program} ended before it had a display`);
        text += new TextDecoder().decode(value);
      }
      return text.trim();
    });
    return { name: `:${number}`, pid: child.pid, close };
  } catch (error) {
    await close();
    throw error;
  }
}
