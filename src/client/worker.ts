/**
 * One stream for all tabs of a profile: the worker's half.
 *
 * @module
 */
import { openStream } from "./stream.ts";
import type { MessagePortLike } from "./tabs/types.ts";
import { Host } from "./worker/host.ts";
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
 *
 * @example The script of a SharedWorker, which asks one digest for all tabs
 * ```ts no-run
 * import { createDigestClient, createVersionMap } from "@tidemark/sse/client";
 * import { createWorkerHost } from "@tidemark/sse/worker";
 *
 * const versions = createVersionMap();
 * const digest = createDigestClient({ url: "/digest" });
 * createWorkerHost({
 *   versions,
 *   alive: { url: "/alive" },
 *   async revalidate(context, tabs) {
 *     if (context.full) return await tabs.run(context);
 *     const found = await digest.check(versions.snapshot(), context.signal);
 *     await tabs.run({ ...context, full: found.mustRefetch }, found);
 *   },
 * });
 * ```
 *
 * @example Both halves in one process, joined by a port as a browser joins them
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub } from "@tidemark/sse";
 * import { attachToWorker } from "@tidemark/sse/tabs";
 * import { createWorkerHost } from "@tidemark/sse/worker";
 *
 * const hub = createHub({ replay: { maxEvents: 1024, ttlMs: 600_000 } });
 * const host = createWorkerHost({
 *   fetch: (input, init) => Promise.resolve(hub.serve(new Request(input, init))),
 * });
 * const { port1, port2 } = new MessageChannel();
 * host.connect(port2);
 *
 * const arrived = Promise.withResolvers<string>();
 * const tab = attachToWorker({
 *   worker: () => ({ port: port1, addEventListener() {} }),
 *   url: "http://localhost/events",
 *   revalidate: () => void hub.publish({ name: "tick", data: "1" }),
 *   onFrame: ({ type, data }) => arrived.resolve(`${type} ${data}`),
 * });
 * assertEquals(await arrived.promise, "tick 1");
 * assertEquals([tab.mode(), tab.state(), host.tabs()], ["worker", "open", 1]);
 *
 * tab.detach();
 * host.stop();
 * port2.close();
 * await hub.shutdown();
 * ```
 */
export function createWorkerHost(options: WorkerHostOptions = {}): WorkerHost {
  const host = new Host(options, openStream);
  const connect = (port: MessagePortLike): void => {
    const receive = host.connect((message) => port.postMessage(message));
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
