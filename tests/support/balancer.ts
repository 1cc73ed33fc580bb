/**
 * A load balancer that moves clients about: each new connection goes to a pod by chance, and
 * connections are cut by chance. Runs under Deno.
 *
 * @module
 */

import type { Random } from "../suites/lib/random.ts";

/** A balancer in front of pods that come and go. */
export class Balancer {
  readonly #listener: Deno.TcpListener;
  readonly #random: Random;
  readonly #pods = new Set<string>();
  readonly #open = new Set<Deno.TcpConn>();
  readonly #serving = new Set<Promise<void>>();

  /** @param random Decides who goes where, and who is cut. */
  constructor(random: Random) {
    this.#random = random;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.#track(this.#accept());
  }

  /** Where clients connect. */
  get url(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}`;
  }

  /** How many connections there are. */
  get connections(): number {
    return this.#open.size;
  }

  /**
   * A pod takes connections.
   *
   * @param url Where it listens.
   */
  add(url: string): void {
    this.#pods.add(url);
  }

  /**
   * A pod takes no new connections.
   *
   * @param url Where it listened.
   */
  remove(url: string): void {
    this.#pods.delete(url);
  }

  /**
   * Cuts some connections.
   *
   * @param share Of all, from 0 to 1.
   * @returns How many.
   */
  cut(share: number): number {
    const cut = [...this.#open].filter(() => this.#random.next() < share);
    for (const connection of cut) close(connection);
    return cut.length;
  }

  /** Cuts all, and listens no longer. */
  async stop(): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) close(connection);
    await Promise.all(this.#serving);
  }

  async #accept(): Promise<void> {
    try {
      for await (const client of this.#listener) this.#track(this.#serve(client));
    } catch {
      // It was closed.
    }
  }

  async #serve(client: Deno.TcpConn): Promise<void> {
    this.#open.add(client);
    const pod = await this.#reach();
    if (pod !== null) {
      // Whichever end closes, closes both.
      await Promise.race([pipe(client, pod), pipe(pod, client)]);
      close(pod);
    }
    close(client);
    this.#open.delete(client);
  }

  /** A pod that answers, by chance; another one where the first has just died. */
  async #reach(): Promise<Deno.TcpConn | null> {
    const pods = [...this.#pods];
    while (pods.length > 0) {
      const [url] = pods.splice(Math.floor(this.#random.next() * pods.length), 1);
      const { hostname, port } = new URL(url ?? "");
      const pod = await Deno.connect({ hostname, port: Number(port) }).catch(() => null);
      if (pod !== null) return pod;
    }
    return null;
  }

  #track(work: Promise<void>): void {
    this.#serving.add(work);
    work.finally(() => this.#serving.delete(work));
  }
}

async function pipe(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
  await from.readable.pipeTo(to.writable).catch(() => {});
}

function close(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // The other end was first.
  }
}
