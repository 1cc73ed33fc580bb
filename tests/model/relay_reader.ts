/**
 * A client of one pod: it comes back with the cursor it has, and knows only what it was sent.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Hub } from "../../src/hub/types.ts";
import { parseHello } from "../../src/wire/hello.ts";
import { JournalClient } from "./journal_client.ts";

/** A durable event, in the order in which all pods together published. */
export interface Published {
  readonly index: number;
  /** Which start of which pod. */
  readonly by: string;
  readonly topic: string;
  readonly data: string;
  /** The starts of pods which then took its publisher for alive. */
  readonly believers: ReadonlySet<string>;
  /** The starts of pods which were then away from the relay. */
  readonly deaf: ReadonlySet<string>;
}

/** What a client was sent: an event, or word that events may be missing. */
interface Entry {
  /** The event; `null` for the word. */
  readonly data: string | null;
  /** How many events had been published when it was seen. */
  readonly at: number;
}

/** A client. */
export class RelayReader {
  readonly #hub: Hub;
  readonly #topics: readonly string[] | null;
  readonly #lag: boolean;
  readonly #entries: Entry[] = [];
  #stream: JournalClient | null = null;
  #read = 0;
  #cursor = "";
  /** The first event that it is promised, or to be told of; `null` before the promise. */
  #promised: number | null = null;

  /**
   * @param hub Its pod's hub.
   * @param topics What it listens to; `null` for everything.
   * @param lag Whether it understands `sse:lag`.
   */
  constructor(hub: Hub, topics: readonly string[] | null, lag: boolean) {
    this.#hub = hub;
    this.#topics = topics;
    this.#lag = lag;
  }

  /** Whether it has no stream now. */
  get over(): boolean {
    return this.#stream?.over ?? true;
  }

  /** Whether it listens to a topic. */
  wants(topic: string): boolean {
    return topic === "" || this.#topics === null || this.#topics.includes(topic);
  }

  /** Comes, or comes back. */
  connect(): void {
    const options = this.#topics === null ? {} : { topics: this.#topics };
    const asked = { lag: this.#lag, ...(this.#cursor !== "" && { cursor: this.#cursor }) };
    this.#stream = new JournalClient(this.#hub, options, asked);
    this.#read = 0;
  }

  /** Goes. */
  cut(): void {
    if (this.over) return;
    this.#stream?.sink.leave();
    // What a client leaves behind is not written to again.
    if (this.#stream !== null) this.#stream.sink.destroyed = true;
  }

  /** Whether an event is among what its stream has brought. */
  saw(data: string): boolean {
    return this.#stream?.data.includes(data) ?? false;
  }

  /**
   * Reads what has come.
   *
   * @param published How many events have been published.
   * @param promising Whether its pod knows its siblings.
   */
  observe(published: number, promising: boolean): void {
    const reports = this.#stream?.reports ?? [];
    for (; this.#read < reports.length; this.#read++) {
      const one = reports[this.#read];
      if (one?.kind === "id") this.#cursor = one.id;
      if (one?.kind !== "event") continue;
      if (one.name === "sse:hello") this.#greeted(one.data, published);
      else if (one.name === "sse:lag") {
        assertEquals(JSON.parse(one.data).missed, null);
        assert(this.#lag, "only who understands it is told so");
        this.#entries.push({ data: null, at: published });
      } else if (!one.name.startsWith("sse:")) {
        this.#entries.push({ data: one.data, at: published });
      }
      if (one.id !== null && one.id !== undefined && one.id !== "") this.#cursor = one.id;
    }
    if (promising && this.#stream !== null) this.#promised ??= published;
  }

  /** Judges that nothing came twice, and each pod's events in its order. */
  judgeOrder(): void {
    const seen = new Set<string>();
    const last = new Map<string, number>();
    for (const { data } of this.#entries) {
      if (data === null) continue;
      assert(!seen.has(data), `${data} came twice`);
      seen.add(data);
      const [by = "", index] = data.split(":");
      if (index === undefined) continue;
      assert(Number(index) > (last.get(by) ?? -1), `${data} came after ${by}:${last.get(by)}`);
      last.set(by, Number(index));
    }
  }

  /**
   * Judges all that it was sent: each event is there, or behind the last one before it of the same pod
   * stands a word that was said when it had been published.
   *
   * @param log Everything that was published.
   * @param knowable Whether its pod can know of an event that did not reach it.
   * @param tally Where it counts.
   */
  judge(
    log: readonly Published[],
    knowable: (event: Published) => boolean,
    tally: Record<string, number>,
  ): void {
    this.judgeOrder();
    const count = (what: string): void => void (tally[what] = (tally[what] ?? 0) + 1);
    const at = new Map<string, number>();
    this.#entries.forEach(({ data }, position) => {
      if (data === null) count("told");
      else at.set(data, position);
    });
    const before = new Map<string, number>();
    for (const event of log) {
      if (!this.wants(event.topic)) continue;
      const position = at.get(event.data);
      if (position !== undefined) {
        before.set(event.by, position);
        count("seen");
      } else if (this.#promised !== null && event.index >= this.#promised) {
        if (!knowable(event)) {
          count("unknowable");
          continue;
        }
        count("missed");
        const after = before.get(event.by) ?? -1;
        const told = this.#entries.some((one, place) =>
          one.data === null && place > after && one.at > event.index
        );
        assert(told, `${event.data} is missing, and nobody said so`);
      }
    }
  }

  #greeted(data: string, published: number): void {
    const { verdict, resumed } = parseHello(data);
    if (verdict === "fresh") return;
    // What it is not resumed over it is told of.
    if (!resumed) this.#entries.push({ data: null, at: published });
  }
}
