/**
 * The one table of runtimes and browsers under test: how to start each, and what each cannot do. A
 * suite asks the table; it never asks for a runtime by its name.
 *
 * Each command is an argv for the project's root folder. `scripts/run.mjs` starts the same ones:
 *
 * - deno: `deno run -A src/testing/fixture/main.ts FLAGS`
 * - bun: `bun run src/testing/fixture/main.ts FLAGS`
 * - node: `node --import tsx src/testing/fixture/main.ts FLAGS` (`--direct off` pipes the Web body)
 * - workerd: `node --import tsx tests/support/workerd.ts FLAGS`, and `--compat-date YYYY-MM-DD`,
 *   `--compat-flags a,b`; the variable MINIFLARE_WORKERD_PATH chooses the binary.
 *
 * @module
 */

/** What a host can do. Where one cannot, a suite expects just that, and the docs say it. */
export interface Capabilities {
  /**
   * A peer that closes its socket, or only its own direction, is noticed while nothing is written.
   * Else a close is noticed at the next write, and a half-close never: the peer is served on.
   */
  readonly seesIdlePeerLeave: boolean;
  /**
   * The server's end of the socket is closed within 4 s after the hub has dropped the stream of a
   * peer that stopped reading; else it stays established until the kernel gives it up.
   */
  readonly socketDestroyedOnStall: boolean;
  /** On SIGTERM its streams are told `sse:reset`, and then it stops; else they are cut. */
  readonly stopsOnSignal: boolean;
  /** How many idle streams one server must hold in a test. */
  readonly idleConnections: number;
  /** How many streams one server must feed in a load test. */
  readonly loadConnections: number;
  /**
   * How many bytes the host and the kernel take at most for a peer that does not read, before the
   * host stops asking for more. 4 to 5 MB were seen on each; most of it is the kernel's.
   */
  readonly hostBufferBytes: number;
}

/** How to start something. */
export interface Command {
  /** The program and its arguments. */
  readonly argv: readonly [string, ...string[]];
  /** Environment variables to add. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the line on stdout looks like that tells the address, as its first group. */
  readonly listen: RegExp;
}

/** The names of the runtimes on which the fixture runs. */
export type RuntimeName =
  | "deno"
  | "bun"
  | "node-web"
  | "node-direct"
  | "workerd-2026-04"
  | "workerd-2026-04-signal"
  | "workerd-2026-11"
  | "workerd-2026-11-signal";

/** The names of the bare programs: a hub at default options, served as the documentation says. */
export type BareName = "bare-deno" | "bare-bun" | "bare-object";

/** A runtime under test. */
export interface Runtime {
  /** Its name, for reports. */
  readonly name: RuntimeName;
  /** What starts the fixture there; the flags of the fixture follow. */
  readonly command: Command;
  /** What it can do. */
  readonly can: Capabilities;
}

/**
 * A bare program. It serves `hub.handler` on every path; a line on its standard input is published as
 * the data of an event without a name or a topic.
 */
export interface BareRuntime {
  /** Its name, for reports. */
  readonly name: BareName;
  /** What starts it. */
  readonly command: Command;
  /** What it can do. */
  readonly can: Capabilities;
}

const BUN = "node_modules/bun/bin/bun.exe";
/** Under Deno its own program; the table is also read on Node, to start a fixture by hand. */
const DENO = "Deno" in globalThis ? Deno.execPath() : "node_modules/deno/deno";
const NODE = "node";
const NEW_WORKERD = "node_modules/workerd/bin/workerd";
const MAIN = "src/testing/fixture/main.ts";
const WORKERD = "tests/support/workerd.ts";
/** Up to the line's end: half a port number is a number too. */
const LISTEN = /^LISTEN (http:\/\/127\.0\.0\.1:\d+)\r?\n/m;
/** What Bun itself prints when it serves a program's default export. */
const BUN_LISTENS = /server: (http:\/\/127\.0\.0\.1:\d+)\/?\r?\n/;

const full: Capabilities = {
  seesIdlePeerLeave: true,
  socketDestroyedOnStall: true,
  stopsOnSignal: true,
  idleConnections: 5000,
  loadConnections: 500,
  hostBufferBytes: 8 * 1024 * 1024,
};

const workerd: Capabilities = {
  ...full,
  seesIdlePeerLeave: false,
  socketDestroyedOnStall: false,
  stopsOnSignal: false,
  idleConnections: 500,
  loadConnections: 100,
};

function node(direct: "on" | "off"): Command {
  return { argv: [NODE, "--import", "tsx", MAIN, "--direct", direct], listen: LISTEN };
}

function worker(binary: "bundled" | "new", ...args: string[]): Command {
  return {
    argv: [NODE, "--import", "tsx", WORKERD, "--compat-date", "2026-04-01", ...args],
    env: binary === "new" ? { MINIFLARE_WORKERD_PATH: NEW_WORKERD } : {},
    listen: LISTEN,
  };
}

const SIGNAL = ["--compat-flags", "enable_request_signal"];

/** Every runtime on which the fixture, and so the conformance suite, runs. */
export const RUNTIMES: readonly Runtime[] = [
  {
    name: "deno",
    command: { argv: [DENO, "run", "-A", MAIN], listen: LISTEN },
    can: { ...full, socketDestroyedOnStall: false },
  },
  { name: "bun", command: { argv: [BUN, "run", MAIN], listen: LISTEN }, can: full },
  { name: "node-web", command: node("off"), can: full },
  { name: "node-direct", command: node("on"), can: full },
  { name: "workerd-2026-04", command: worker("bundled"), can: workerd },
  { name: "workerd-2026-04-signal", command: worker("bundled", ...SIGNAL), can: workerd },
  { name: "workerd-2026-11", command: worker("new"), can: workerd },
  { name: "workerd-2026-11-signal", command: worker("new", ...SIGNAL), can: workerd },
];

/** Every bare program. */
export const BARE_RUNTIMES: readonly BareRuntime[] = [
  {
    name: "bare-deno",
    command: { argv: [DENO, "run", "-A", "tests/support/bare/deno.ts"], listen: LISTEN },
    can: { ...full, socketDestroyedOnStall: false, stopsOnSignal: false },
  },
  {
    name: "bare-bun",
    command: { argv: [BUN, "run", "tests/support/bare/bun.ts"], listen: BUN_LISTENS },
    can: { ...full, stopsOnSignal: false },
  },
  {
    name: "bare-object",
    command: worker("bundled", "--bare", "on"),
    can: workerd,
  },
];

/**
 * The runtimes a run is about: all of them, or those that an environment variable names.
 *
 * @param only A comma-separated list of names; `undefined` or `""` means all.
 * @returns The runtimes, in the table's order.
 * @throws {TypeError} When a name is not in the table: a run that silently tests nothing helps nobody.
 */
export function chooseRuntimes(only: string | undefined): readonly Runtime[] {
  if (only === undefined || only === "") return RUNTIMES;
  const names = only.split(",");
  for (const name of names) {
    if (!RUNTIMES.some((runtime) => runtime.name === name)) {
      throw new TypeError(`Cannot test on ${name}: it is not in the table of runtimes`);
    }
  }
  return RUNTIMES.filter((runtime) => names.includes(runtime.name));
}

/** The names of the runtimes on which the client runs, but for browsers. */
export type ClientRuntimeName = "deno" | "bun" | "node";

/** A runtime on which the client runs in a process of its own. */
export interface ClientRuntime {
  /** Its name, for reports. */
  readonly name: ClientRuntimeName;
  /** What starts `tests/support/client_program.ts` there. */
  readonly argv: readonly [string, ...string[]];
  /** The server on the same runtime: work that is dear is done against this one alone. */
  readonly twin: RuntimeName;
}

const CLIENT = "tests/support/client_program.ts";

/** Every runtime on which the client runs, but for browsers. */
export const CLIENT_RUNTIMES: readonly ClientRuntime[] = [
  { name: "deno", argv: [DENO, "run", "-A", "--quiet", CLIENT], twin: "deno" },
  { name: "bun", argv: [BUN, "run", CLIENT], twin: "bun" },
  { name: "node", argv: [NODE, "--import", "tsx", CLIENT], twin: "node-direct" },
];

/** What a browser can do. What one cannot is left out of a suite, or done there in another way. */
export interface BrowserCapabilities {
  /** It has `SharedWorker`, one for all tabs of a profile. */
  readonly sharedWorker: boolean;
  /** It has `navigator.locks`. */
  readonly webLocks: boolean;
  /** A hidden tab can be frozen and thawed from outside: `freeze` and `resume` are fired. */
  readonly freezable: boolean;
  /** The body of a `fetch` that grew while its tab was frozen flows on when it is thawed. */
  readonly fetchSurvivesFreeze: boolean;
  /** A shared worker can be killed from outside, while its tabs live on. */
  readonly killsSharedWorker: boolean;
  /** A tab can be told that there is no network: `navigator.onLine`, `offline` and `online`. */
  readonly emulatesOffline: boolean;
  /** A page that had a stream open when it was left is the same page when one comes back to it. */
  readonly bfcacheWithStream: boolean;
  /** A page that held a Web Lock is the same page too, if nobody else wanted the lock meanwhile. */
  readonly bfcacheWithLock: boolean;
  /** Such a page still has its lock; else the lock's request has been rejected. */
  readonly bfcacheKeepsLock: boolean;
  /** A page that held a port of a shared worker is the same page too. */
  readonly bfcacheWithWorker: boolean;
  /**
   * Two plain `fetch`es of one address that may be cached run side by side; else the second waits
   * until the first has ended, which a stream never does, unless it asks for `cache: "no-store"`.
   */
  readonly fetchesSideBySide: boolean;
  /** A stream that was cut is reported as a failure; else as an end like any other. */
  readonly tellsCutFromEnd: boolean;
}

/** The names of the browsers. */
export type BrowserName = "chromium" | "firefox" | "webkit";

/** A browser under test. */
export interface BrowserUnderTest {
  /** Its name, for reports. */
  readonly name: BrowserName;
  /** The programs it takes; the first is the one that is started. */
  readonly programs: readonly [string, ...string[]];
  /** How many streams of one profile one origin gets over HTTP/1.1; the next one hangs. */
  readonly streamsPerOrigin: number;
  /** What it can do. */
  readonly can: BrowserCapabilities;
}

/** Every browser: Debian's Chromium and Firefox, and the WebKit of GTK on a display of its own. */
export const BROWSERS: readonly BrowserUnderTest[] = [
  {
    name: "chromium",
    programs: ["/usr/bin/chromium"],
    streamsPerOrigin: 6,
    can: {
      sharedWorker: true,
      webLocks: true,
      freezable: true,
      fetchSurvivesFreeze: false,
      killsSharedWorker: true,
      emulatesOffline: true,
      bfcacheWithStream: true,
      bfcacheWithLock: true,
      bfcacheKeepsLock: true,
      bfcacheWithWorker: true,
      fetchesSideBySide: true,
      tellsCutFromEnd: true,
    },
  },
  {
    name: "firefox",
    programs: ["/usr/bin/firefox-esr"],
    streamsPerOrigin: 6,
    can: {
      sharedWorker: true,
      webLocks: true,
      freezable: false,
      fetchSurvivesFreeze: false,
      killsSharedWorker: false,
      emulatesOffline: true,
      bfcacheWithStream: false,
      bfcacheWithLock: false,
      bfcacheKeepsLock: false,
      bfcacheWithWorker: true,
      fetchesSideBySide: false,
      tellsCutFromEnd: true,
    },
  },
  {
    name: "webkit",
    programs: ["/usr/bin/WebKitWebDriver", "Xvfb"],
    streamsPerOrigin: 6,
    can: {
      sharedWorker: true,
      webLocks: true,
      freezable: false,
      fetchSurvivesFreeze: false,
      killsSharedWorker: false,
      emulatesOffline: false,
      bfcacheWithStream: true,
      bfcacheWithLock: true,
      bfcacheKeepsLock: false,
      bfcacheWithWorker: true,
      fetchesSideBySide: true,
      tellsCutFromEnd: false,
    },
  },
];
