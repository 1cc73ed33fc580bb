/**
 * What can be wrong with a relay.
 *
 * @module
 */
import { RelayError } from "../../../src/errors/relay.ts";
import type { RelayListener } from "../../../src/relay/relay.ts";
import type { Change } from "./flawed.ts";

/** A relay whose listeners are others. */
export function hearing(change: (listener: RelayListener) => Partial<RelayListener>): Change {
  return (relay) => ({
    listen(listener, options) {
      const right: RelayListener = {
        message: (message) => listener.message(message),
        resumed: () => listener.resumed(),
      };
      return relay.listen({ ...right, ...change(listener) }, options);
    },
  });
}

/** A relay that sends something else. */
export function sending(change: (message: Uint8Array) => Uint8Array): Change {
  return (relay) => ({ send: (message) => relay.send(change(message)) });
}

export function losing(nth: number): Change {
  return (relay) => {
    let n = 0;
    return { send: (message) => n++ === nth ? undefined : relay.send(message) };
  };
}

/** Keeps one back behind the next one. */
export function mixing(): Change {
  return (relay) => {
    let n = 0;
    let kept: Uint8Array | null = null;
    return {
      send(message) {
        if (++n === 20) {
          kept = message;
          return;
        }
        relay.send(message);
        if (kept !== null) relay.send(kept);
        kept = null;
      },
    };
  };
}

/** A relay's listeners take turns. */
export function electing(): Change {
  return (relay) => {
    const listeners: RelayListener[] = [];
    return {
      listen(listener, options) {
        const index = listeners.push(listener) - 1;
        let n = 0;
        return relay.listen({
          message: (message) => n++ % listeners.length === index && listener.message(message),
          resumed: () => listener.resumed(),
        }, options);
      },
    };
  };
}

export function sharing(): Change {
  return (relay) => {
    const latest = new Map<string, Uint8Array>();
    return {
      listen: (listener, options) =>
        relay.listen({
          message(message) {
            const key = message.join();
            const shared = latest.get(key) ?? message;
            latest.set(key, shared);
            listener.message(shared);
          },
          resumed: () => listener.resumed(),
        }, options),
    };
  };
}

export function instant(): Change {
  return (relay) => {
    const listeners: RelayListener[] = [];
    return {
      send: (message) => listeners.forEach((listener) => listener.message(message)),
      listen(listener, options) {
        listeners.push(listener);
        return relay.listen({ message() {}, resumed() {} }, options);
      },
    };
  };
}

export function ending(): Change {
  return (relay) => ({
    async listen(listener, options) {
      const subscription = await relay.listen(listener, options);
      let ended = false;
      return {
        close() {
          if (ended) return Promise.reject(new RangeError("it has ended"));
          ended = true;
          return subscription.close();
        },
      };
    },
  });
}

export function once(): Change {
  return (relay) => {
    let used = false;
    return {
      listen(listener, options) {
        if (used) return new Promise(() => {});
        used = true;
        return relay.listen(listener, options);
      },
    };
  };
}

export function closingOnce(): Change {
  return (relay) => {
    let closed = false;
    return {
      close() {
        if (closed) return Promise.reject(new RelayError("closed", "it has been closed"));
        closed = true;
        return relay.close();
      },
    };
  };
}

/** What a pod sends does not come back to it while it is away. */
export function refusing(): Change {
  return (relay) => {
    let left = 10;
    return {
      send(message) {
        if (message.length === 1000 && left-- <= 0) throw new RelayError("unavailable", "away");
        relay.send(message);
      },
    };
  };
}

export function haunting(): Change {
  return (relay) => ({
    async listen(listener, options) {
      const subscription = await relay.listen(listener, options);
      return {
        async close() {
          await subscription.close();
          relay.listen(listener).catch(() => {});
          listener.resumed();
        },
      };
    },
  });
}
