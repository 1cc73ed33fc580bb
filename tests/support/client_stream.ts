/**
 * One stream of a client in a process of its own: all that it told, and what it is asked to do.
 *
 * @module
 */
import type { LifecycleRecord } from "../../src/client/records.ts";
import type { Done, Happening, Line, Order, ToldFrame } from "./client_protocol.ts";

type Told = Happening["told"];
type LineOf<T extends Told> = Extract<Line, { told: T }>;
type RecordOf<K extends LifecycleRecord["kind"]> = Extract<LifecycleRecord, { kind: K }>;

/** A record, and when it came, in milliseconds of the client's clock. */
export type Timed<R> = R & { readonly at: number };

/** The process of a stream. */
export interface Teller {
  /** Whether it has ended. */
  readonly ended: boolean;
  /** What it wrote besides what it told. */
  readonly log: string;
  /** Gives one of its streams an order. */
  order(stream: string, order: Order): Promise<Done>;
}

/** The stream. */
export class ClientStream {
  /** All that happened to it, in order. */
  readonly lines: Line[] = [];
  readonly name: string;
  readonly #client: Teller;
  readonly #waiting = new Set<() => void>();
  /** How many records of each kind were asked for already. */
  readonly #seen = new Map<string, number>();

  /**
   * @param client Its process.
   * @param name Its name there.
   */
  constructor(client: Teller, name: string) {
    this.#client = client;
    this.name = name;
  }

  /** Takes a line. */
  hear(line: Line): void {
    this.lines.push(line);
    this.wake();
  }

  /** Has everybody who waits ask again. */
  wake(): void {
    for (const wake of this.#waiting) wake();
  }

  /**
   * Gives it an order.
   *
   * @returns Where it stood when the order was carried out.
   */
  order(order: Order): Promise<Done> {
    return this.#client.order(this.name, order);
  }

  /** The lines of one kind so far. */
  told<T extends Told>(told: T): LineOf<T>[] {
    return this.lines.filter((line): line is LineOf<T> => line.told === told);
  }

  /** The records of one kind so far. */
  records<K extends LifecycleRecord["kind"]>(kind: K): Timed<RecordOf<K>>[] {
    return this.told("record").filter(({ record }) => record.kind === kind)
      // The filter has looked at the kind.
      .map(({ record, at }) => ({ ...record as RecordOf<K>, at }));
  }

  /** The frames so far. */
  get frames(): ToldFrame[] {
    return this.told("frame").map(({ frame }) => frame);
  }

  /** The offsets of the frames so far that carry a cursor, in order. */
  get offsets(): number[] {
    return this.frames.flatMap(({ id }) => id === null ? [] : [Number(id.slice(17))]);
  }

  /**
   * Waits for the next record of a kind that was not waited for yet.
   *
   * @param kind Which.
   * @param timeoutMs How long; 10 000.
   */
  async next<K extends LifecycleRecord["kind"]>(
    kind: K,
    timeoutMs?: number,
  ): Promise<Timed<RecordOf<K>>> {
    const index = this.#seen.get(kind) ?? 0;
    this.#seen.set(kind, index + 1);
    return await this.until(`${kind} record ${index + 1}`, () => this.records(kind)[index], {
      timeoutMs,
    });
  }

  /** Leaves the records of a kind that have come so far behind: {@linkcode next} waits for another. */
  skip(kind: LifecycleRecord["kind"]): void {
    this.#seen.set(kind, this.records(kind).length);
  }

  /**
   * Waits for the next time it comes into a state.
   *
   * @param state Which.
   * @returns The record that says so.
   */
  async becomes(state: RecordOf<"state">["to"]): Promise<Timed<RecordOf<"state">>> {
    for (;;) {
      const record = await this.next("state");
      if (record.to === state) return record;
    }
  }

  /**
   * Waits until something holds, asking after each line.
   *
   * @param what What is waited for, for the message.
   * @param ask Answers with a value once it holds; `undefined`, `null` and `false` mean not yet.
   * @returns The answer.
   * @throws {Error} After 10 s, or when the process ends before; with the last lines.
   */
  async until<T>(
    what: string,
    ask: () => T | undefined | null | false,
    { timeoutMs = 10_000 }: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const answer = ask();
      if (answer !== undefined && answer !== null && answer !== false) return answer;
      if (this.#client.ended) throw new Error(`The client ended before ${what}\n${this.tail()}`);
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`Not within ${timeoutMs} ms: ${what}\n${this.tail()}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, left);
      this.#waiting.add(resolve);
      await promise;
      clearTimeout(timer);
      this.#waiting.delete(resolve);
    }
  }

  /** The last lines, for messages. */
  tail(): string {
    const lines = this.lines.slice(-25).map((line) => JSON.stringify(line).slice(0, 300));
    return [`${this.lines.length} lines of ${this.name}, the last:`, ...lines, this.#client.log]
      .join("\n");
  }
}
