/** A thousand reconnections leave nothing behind: no listener, no wait, no socket, no signal. */
import { assertEquals, assertLessOrEqual } from "@std/assert";
import type { Stream, StreamOptions } from "../../../src/client/types.ts";
import { keepaliveFrame } from "../../../src/wire/control.ts";
import { eventually } from "../../support/poll.ts";
import {
  type Asked,
  HALF_CLOSE,
  head,
  type Script,
  serving,
  STREAM,
} from "../../support/scripted_server.ts";
import { test } from "../../support/test.ts";
import { frame, greeting, only, watch } from "./edges.ts";

/** Counts who listens to each signal, as far as the platform asks in the open. */
class ListenerCount {
  readonly #added = new Map<AbortSignal, number>();
  readonly #own = Object.getOwnPropertyDescriptor(EventTarget.prototype, "addEventListener");

  constructor() {
    const added = this.#added;
    const { addEventListener } = EventTarget.prototype;
    EventTarget.prototype.addEventListener = function (...args): void {
      if (this instanceof AbortSignal) added.set(this, (added.get(this) ?? 0) + 1);
      addEventListener.apply(this, args);
    };
  }

  /** How many listeners the signal with the most of them was ever given. */
  get most(): number {
    return Math.max(0, ...this.#added.values());
  }

  end(): void {
    Object.defineProperty(EventTarget.prototype, "addEventListener", this.#own ?? {});
  }
}

/** A source of signals that knows how many listen to it. */
class Source {
  listeners = 0;
  ever = 0;
  readonly subscribe = (): () => void => {
    this.listeners++;
    this.ever++;
    return () => void this.listeners--;
  };
}

/** How a stream is worn out. */
interface Wear {
  /** How many connections. */
  readonly times: number;
  /** What each request is answered with; `number` counts the connections alone. */
  readonly answer: (asked: Asked) => Script;
  /** What the client does at each hello. */
  readonly act?: (stream: Stream) => void;
  readonly options?: (origin: string) => Partial<StreamOptions>;
}

async function wearOut({ times, answer, act, options }: Wear): Promise<void> {
  const count = new ListenerCount();
  const signals: AbortSignal[] = [];
  const [page, network] = [new Source(), new Source()];
  let connections = 0;
  const answering = (asked: Asked): Script =>
    answer(asked.method === "GET" ? { ...asked, number: ++connections } : asked);
  try {
    await serving(answering, async (server) => {
      const watched = watch({
        url: ({ signal }) => {
          signals.push(signal);
          return `${server.origin}/events`;
        },
        visibility: { hidden: () => false, subscribe: page.subscribe },
        online: { online: () => true, subscribe: network.subscribe },
        // It need not have been open for any time: what ends comes back at once.
        timing: { stableMs: 0 },
        ...options?.(server.origin),
      });
      const { stream, clock, records } = watched;
      stream.start();
      let seen = 0;
      let most = 0;
      await eventually(() => {
        most = Math.max(most, clock.pending);
        const hellos = only(records, "hello").length;
        if (hellos > seen && hellos < times) act?.(stream);
        seen = hellos;
        return hellos >= times;
      }, { what: `${times} connections`, everyMs: 0, timeoutMs: 40_000 });
      // The machine has one wait at most, whatever it waits for, and a topic one.
      assertLessOrEqual(most, 2);
      assertEquals([page.listeners, page.ever, network.ever], [1, 1, 1]);
      stream.stop();
      await server.empty();
      assertEquals([page.listeners, network.listeners, clock.pending], [0, 0, 0]);
      // One for each attempt, none that outlives it and gathers the listeners of all.
      const attempts = only(records, "state").filter(({ to }) => to === "connecting").length;
      assertEquals([signals.length, new Set(signals).size], [attempts, attempts]);
      assertEquals(signals.filter(({ aborted }) => !aborted), []);
      assertLessOrEqual(count.most, 8);
    });
  } finally {
    count.end();
  }
}

/** A connection that resumes, and brings one frame. */
function resuming({ number }: Asked): Script {
  const verdict = number === 1 ? "fresh" : "resumed";
  return [
    STREAM,
    greeting({ verdict, head: number - 1, connection: `c${number}` }),
    frame(number, "x"),
  ];
}

test("six hundred connections that the server ends leave nothing behind", async () => {
  await wearOut({ times: 600, answer: (asked) => [...resuming(asked), HALF_CLOSE] });
});

test("two hundred connections that the client ends leave nothing behind", async () => {
  await wearOut({ times: 200, answer: resuming, act: (stream) => stream.reconnect() });
});

test("two hundred connections with an acknowledgement and a subscription each leave nothing behind", async () => {
  let posts = 0;
  await wearOut({
    times: 200,
    answer(asked) {
      if (asked.method === "GET") {
        return [...resuming(asked), keepaliveFrame("sse:keepalive"), HALF_CLOSE];
      }
      // Every third is answered, one is refused, one is left without an answer.
      const answer = JSON.stringify({ verdict: "resumed", head: "0" });
      const said = head(200, "Content-Type: application/json", `Content-Length: ${answer.length}`);
      return [[said, answer], [head(500)], []][posts++ % 3] ?? [];
    },
    act: (stream) => void stream.subscribe("a").catch(() => {}),
    options: (origin) => ({
      alive: { url: `${origin}/alive` },
      subscribeUrl: `${origin}/subscribe`,
    }),
  });
});
