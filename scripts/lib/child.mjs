// @ts-check
/**
 * Starting other programs: in the foreground, or with their output passed on and kept.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import { environment, ROOT, WINDOWS } from "./project.mjs";

/** The most characters of output that are kept: all of an ordinary run; a summary stands last. */
const KEPT = 4_194_304;
/** How long a program has to stop after it was asked to, in milliseconds. */
const GRACE_MS = 5000;
/** How often we look whether npm is still there, in milliseconds. */
const WATCH_MS = 250;

/**
 * @typedef {object} Ended
 * @property {number} code The exit code; 128 and the signal's number where a signal ended it.
 * @property {string} output The end of what it wrote on stdout and stderr.
 * @property {boolean} late Whether it was ended because its time was over.
 * @property {boolean} interrupted Whether somebody stopped us meanwhile.
 */

/**
 * Runs a program in the foreground: it has our terminal, and the signals that we get.
 *
 * @param {string} file The program.
 * @param {readonly string[]} args Its arguments.
 * @param {Record<string, string>} [env] Variables to add.
 * @returns {Promise<number>} Its exit code.
 */
export async function foreground(file, args, env) {
  const child = spawn(file, args, { cwd: ROOT, env: environment(env), stdio: "inherit" });
  // A terminal's Ctrl-C reaches the child by itself: passed on, it would count as a second one.
  const stop = forwardSignals((signal) => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
  // A signal to npm ends the shell between npm and us, and does not reach us at all.
  const parent = process.ppid;
  const watch = process.env["npm_lifecycle_event"] === undefined ? undefined : setInterval(() => {
    if (process.ppid !== parent) child.kill("SIGTERM");
  }, WATCH_MS);
  try {
    return await exitCode(child);
  } finally {
    clearInterval(watch);
    stop();
  }
}

/**
 * Runs a program, passes its output on and keeps its end.
 *
 * @param {string} file The program.
 * @param {readonly string[]} args Its arguments.
 * @param {object} options How.
 * @param {number} options.timeoutMs After how many milliseconds it is ended, with all it started.
 * @param {boolean} [options.quiet] Whether its output is not passed on, but only kept.
 * @param {Record<string, string>} [options.env] Variables to add.
 * @returns {Promise<Ended>} How it ended.
 */
export async function capture(file, args, options) {
  const child = spawn(file, args, {
    cwd: ROOT,
    env: environment(options.env),
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: a test run that hangs is ended together with the servers it started.
    detached: !WINDOWS,
  });
  let output = "";
  let late = false;
  let interrupted = false;
  /** @param {NodeJS.WritableStream} to */
  const take = (to) => (/** @type {string} */ text) => {
    output = (output + text).slice(-KEPT);
    if (!options.quiet) to.write(text);
  };
  child.stdout.setEncoding("utf8").on("data", take(process.stdout));
  child.stderr.setEncoding("utf8").on("data", take(process.stderr));
  /** @param {NodeJS.Signals} signal */
  const end = (signal) => {
    try {
      if (child.pid !== undefined && !WINDOWS) process.kill(-child.pid, signal);
      else child.kill(signal);
    } catch {
      // It has ended already.
    }
  };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let harder;
  const timer = setTimeout(() => {
    late = true;
    end("SIGTERM");
    harder = setTimeout(() => end("SIGKILL"), GRACE_MS);
  }, options.timeoutMs);
  const stop = forwardSignals((signal) => {
    interrupted = true;
    end(signal);
  });
  // A server that a test left behind would keep the pipes open, and us waiting.
  child.on("exit", () => end("SIGKILL"));
  try {
    return { code: await exitCode(child), output, late, interrupted };
  } catch (error) {
    return { code: 127, output: String(error), late, interrupted };
  } finally {
    clearTimeout(timer);
    clearTimeout(harder);
    stop();
  }
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @returns {Promise<number>}
 */
function exitCode(child) {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal] ?? 0));
    });
  });
}

/**
 * @param {(signal: NodeJS.Signals) => void} send
 * @returns {() => void} Stops forwarding.
 */
function forwardSignals(send) {
  /** @type {NodeJS.Signals[]} */
  const signals = WINDOWS ? ["SIGINT"] : ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, send);
  return () => {
    for (const signal of signals) process.off(signal, send);
  };
}
