/**
 * A TCP proxy that can fail as a network does: it can cut, refuse, or go silent.
 *
 * @module
 */

/** A killable proxy. */
export interface Proxy {
  /** The port it listens on, on 127.0.0.1. */
  readonly port: number;
  /** Cuts every connection that is open. */
  cut(): void;
  /** Whether a new connection is closed at once. */
  refuse(on: boolean): void;
  /**
   * Whether nothing is forwarded in either direction, while connections stay open and new ones are
   * taken: the network is dead, and nobody says so. What was sent meanwhile passes afterwards.
   */
  stall(on: boolean): void;
  /** How many connections are open. */
  open(): number;
  /** How many connections were taken so far, without the refused ones. */
  accepted(): number;
  /** Sends new connections to another port: of a server that was restarted, say. */
  retarget(port: number): void;
  /** Cuts what is open and listens no more. */
  close(): Promise<void>;
}

const HOSTNAME = "127.0.0.1";

/**
 * Starts a proxy.
 *
 * @param target The port on 127.0.0.1 it forwards to.
 * @returns The proxy, listening.
 */
export function startProxy(target: number): Proxy {
  const listener = Deno.listen({ hostname: HOSTNAME, port: 0 });
  const links = new Set<Link>();
  let accepted = 0;
  let refusing = false;
  let to = target;
  const gate = new Gate();

  const take = async (): Promise<void> => {
    for await (const near of listener) {
      if (refusing) {
        near.close();
        continue;
      }
      accepted++;
      const link = new Link(near, gate);
      links.add(link);
      link.run(() => to).finally(() => links.delete(link));
    }
  };
  const taking = take();
  const cut = (): void => {
    for (const link of links) link.close();
    // One that waits for the network to live again would else count as open until then.
    links.clear();
  };

  return {
    port: listener.addr.port,
    cut,
    refuse(on) {
      refusing = on;
    },
    stall: (on) => gate.set(on),
    open: () => links.size,
    accepted: () => accepted,
    retarget(port) {
      to = port;
    },
    async close() {
      listener.close();
      cut();
      gate.set(false);
      await taking;
    },
  };
}

/** Closed while nothing may pass. */
class Gate {
  #opened: PromiseWithResolvers<void> | null = null;

  set(closed: boolean): void {
    if (closed) {
      this.#opened ??= Promise.withResolvers();
    } else {
      this.#opened?.resolve();
      this.#opened = null;
    }
  }

  async pass(): Promise<void> {
    while (this.#opened !== null) await this.#opened.promise;
  }
}

/** A connection from a browser, and the one from here to the target. */
class Link {
  readonly #near: Deno.TcpConn;
  readonly #gate: Gate;
  #far: Deno.TcpConn | null = null;
  #closed = false;

  constructor(near: Deno.TcpConn, gate: Gate) {
    this.#near = near;
    this.#gate = gate;
  }

  /** Forwards until one side ends, then ends the other: an HTTP peer never closes only half. */
  async run(target: () => number): Promise<void> {
    try {
      await this.#gate.pass();
      if (this.#closed) return;
      this.#far = await Deno.connect({ hostname: HOSTNAME, port: target() });
      if (this.#closed) return;
      await Promise.race([this.#pump(this.#near, this.#far), this.#pump(this.#far, this.#near)]);
    } catch {
      // The target does not listen, or a side was cut: the other side learns it by its own end.
    } finally {
      this.close();
    }
  }

  close(): void {
    this.#closed = true;
    for (const side of [this.#near, this.#far]) {
      try {
        side?.close();
      } catch {
        // It is closed already.
      }
    }
  }

  async #pump(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
    const buffer = new Uint8Array(65_536);
    while (true) {
      const size = await from.read(buffer);
      // After the read: what comes while nothing passes waits here, and so does an end.
      await this.#gate.pass();
      if (size === null) return;
      for (let at = 0; at < size;) at += await to.write(buffer.subarray(at, size));
    }
  }
}
