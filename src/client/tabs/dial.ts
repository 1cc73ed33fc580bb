/**
 * Wires to a host that is within reach: behind a port of a SharedWorker, or in this page.
 *
 * @module
 */
import type { Host } from "../worker/host.ts";
import { seal } from "../worker/protocol.ts";
import type { Dial } from "./link.ts";
import type { SharedWorkerLike } from "./types.ts";

/**
 * A wire over a worker's port.
 *
 * @param worker The worker.
 * @returns Opens it.
 */
export function dialWorker({ port }: SharedWorkerLike): Dial {
  return (receive) => {
    let open = true;
    port.addEventListener("message", ({ data }) => {
      if (open) receive(data);
    });
    port.start();
    return {
      send: (message) => port.postMessage(seal(message)),
      close() {
        open = false;
        port.close();
      },
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
    let open = true;
    const toHost = host.connect((message) => {
      queueMicrotask(() => {
        if (open) receive(seal(message));
      });
    });
    return {
      send: (message) => toHost(seal(message)),
      close: () => void (open = false),
    };
  };
}
