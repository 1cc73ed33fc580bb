/**
 * What an application holds of its tab: commands go down the line in use, the page's signals choose
 * when there is one.
 *
 * @module
 */
import { Host } from "../worker/host.ts";
import type { MakeStream } from "../worker/profile_stream.ts";
import type { ToHost } from "../worker/protocol.ts";
import type { WorkerHostOptions } from "../worker/types.ts";
import { TabCore } from "./core.ts";
import { type ElectionScope, LeaderWay } from "./leader_way.ts";
import type { SharedWorkerLike, TabAttachment, TabOptions } from "./types.ts";
import type { Way } from "./way.ts";
import { WorkerWay } from "./worker_way.ts";

/** What a page gives besides the options: a test hands in its own. */
export interface TabScope {
  /** Makes the stream, where the tab carries it. */
  readonly makeStream: MakeStream;
  /** What an election needs; `null` where the page has it not. */
  readonly election: ElectionScope | null;
}

/**
 * Attaches a tab.
 *
 * @param options The application's.
 * @param scope The page's.
 * @returns The attachment.
 */
export function attach(options: TabOptions, scope: TabScope): TabAttachment {
  const core = new TabCore(options);
  let away = true;
  let detached = false;
  let way = chooseWay(core, scope, (next) => {
    way = next;
    next.enter();
  });
  const leave = (reason: string): void => {
    if (away) return;
    away = true;
    way.leave(reason);
    core.inbox.leave();
  };
  const enter = (): void => {
    if (!away || detached) return;
    away = false;
    way.enter();
  };
  const stopListening = [
    core.visibility.subscribe((signal) => {
      if (signal === "pagehide") leave("pagehide");
      else if (signal === "hidden") way.link?.beat(false);
      else if (away) enter();
      else {
        way.link?.check();
        way.seen();
      }
    }),
    core.online.subscribe(() => way.link?.beat(false)),
  ];
  const send = (message: ToHost): void => way.link?.send(message);
  // Not within this call: what the application is told may make it speak to its attachment.
  queueMicrotask(enter);

  return {
    state: () => detached ? "stopped" : core.state,
    cursor: () => core.inbox.cursor,
    mode: () => way.mode,
    reconnect: ({ resetCursor = false } = {}) =>
      send({ kind: "reconnect", how: resetCursor ? "reset" : "reconnect" }),
    credentialsChanged: () => send({ kind: "reconnect", how: "credentials" }),
    observe: (subject, version, epoch) =>
      send({ kind: "observe", subject, version, epoch: epoch ?? null }),
    setTag(tag) {
      if (tag === "") return;
      core.tag = tag;
      send({ kind: "tag", tag });
    },
    detach(reason) {
      if (detached) return;
      detached = true;
      for (const stop of stopListening) stop();
      leave(reason ?? "detached");
      core.inbox.close();
    },
  };
}

/** A worker; or else an election among the tabs; or else a stream of this tab's own. */
function chooseWay(core: TabCore, scope: TabScope, change: (way: Way) => void): Way {
  const { options, url } = core;
  const { election } = scope;
  const makeHost = (): Host => new Host(hostOptions(core), scope.makeStream);
  const spawn = (): SharedWorkerLike | null => {
    try {
      return options.worker?.() ?? null;
    } catch {
      // Where there is no SharedWorker the factory may just as well throw.
      return null;
    }
  };
  let first = spawn();
  const way = new WorkerWay(core, makeHost, () => {
    const worker = first ?? spawn();
    first = null;
    return worker;
  });
  // Without a name of its own a stream might be taken for another one of this origin.
  const name = options.name ?? url;
  if (first !== null || election === null || name === null) return way;
  return new LeaderWay(core, makeHost, election, `tidemark:${name}`, () => change(way));
}

function hostOptions({ clock, options }: TabCore): WorkerHostOptions {
  const { host = {}, timing, credentials } = options;
  return Object.assign(Object.create(host) as WorkerHostOptions, {
    clock,
    timing: { ...timing, ...host.timing },
    credentials: host.credentials ?? credentials,
  });
}
