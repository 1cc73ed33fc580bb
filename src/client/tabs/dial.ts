/**
 * Wires to a host that is within reach: behind a port of a SharedWorker, or in this page.
 *
 * @module
 */
import type { Host } from "../worker/host.ts";
import type { Dial } from "./link.ts";
import type { SharedWorkerLike } from "./types.ts";

/**
 * A wire over a worker's port.
 *
 * @param worker The worker.
 * @returns Opens it.
 */
export function dialWorker(worker: SharedWorkerLike): Dial {
  return (receive) => {
    worker.port.addEventListener("message", ({ data }) => receive(data));
    worker.port.start();
    // Through the worker, so that it is not collected before it could report an error.
    return {
      send: (message) => worker.port.postMessage(message),
      close: () => worker.port.close(),
    };
  };
}

/**
 * A wire to a host in this page. What the tab says is heard at once, so that it can log out as its
 * last word; what the host says, in a turn of its own.
 *
 * @param host The host.
 * @returns Opens it.
 */
export function dialHost(host: Host): Dial {
  return (receive) => {
    const send = host.connect((message) => queueMicrotask(() => receive(message)));
    return { send, close: () => {} };
  };
}
