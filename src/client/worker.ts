/**
 * One stream for all tabs of a profile: the worker's half.
 *
 * @module
 */
import { openStream } from "./stream.ts";
import type { MessagePortLike } from "./tabs/types.ts";
import { Host } from "./worker/host.ts";
import { seal } from "./worker/protocol.ts";
import type { WorkerHost, WorkerHostOptions } from "./worker/types.ts";

export type { MessagePortLike } from "./tabs/types.ts";
export type { HostTabs, TabFindings, WorkerHost, WorkerHostOptions } from "./worker/types.ts";

/** The part of a SharedWorker's global scope that is used. */
interface WorkerScope {
  addEventListener?(
    type: "connect",
    listener: (event: { readonly ports: readonly MessagePortLike[] }) => void,
  ): void;
}

/**
 * Makes the host of a profile's one stream, in the script of a SharedWorker. It listens for tabs from
 * this very call on: call it in the script's first turn, before anything is awaited, or a tab that
 * connects meanwhile is missed.
 *
 * @param options The stream's options, and how the tabs are brought up to date.
 * @returns The host.
 * @throws {ConfigError} When a time is out of its bounds.
 */
export function createWorkerHost(options: WorkerHostOptions = {}): WorkerHost {
  const host = new Host(options, openStream);
  const connect = (port: MessagePortLike): void => {
    const receive = host.connect((message) => port.postMessage(seal(message)));
    port.addEventListener("message", ({ data }) => receive(data));
    port.start();
  };
  (globalThis as WorkerScope).addEventListener?.("connect", ({ ports }) => ports.forEach(connect));
  return {
    connect,
    state: () => host.state,
    tabs: () => host.size,
    stop: () => host.stop(),
  };
}
