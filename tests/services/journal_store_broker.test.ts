/**
 * A pod whose broker is away: at the start, or while it serves.
 *
 * @module
 */
import { assert, assertEquals, assertLess, assertMatch, assertRejects } from "@std/assert";
import { openHub } from "../../src/cluster/open_hub.ts";
import { JournalError } from "../../src/errors/journal.ts";
import { type Broker, BROKERS } from "../support/journal_broker.ts";
import { refusedFixture } from "../support/journal_life.ts";
import { Listener } from "../support/journal_listener.ts";
import { Pod } from "../support/journal_pod.ts";
import { eventually } from "../support/poll.ts";
import { freePort } from "../support/port.ts";
import { test } from "../support/test.ts";

const RING = 4;
const BEFORE = 10;
/** An append's own time is 5 s. */
const REFUSED_WITHIN_MS = 7000;
/** A connection is kept waiting for 2 s. */
const TURNED_AWAY_WITHIN_MS = 4000;

for (const { name, program, spec, start } of BROKERS) {
  const options = { needs: [program], foreignTimers: true };

  test(`a fixture whose ${name} is not there says so in one clear line, and ends`, async () => {
    const port = await freePort();
    const { code, stdout, lines } = await refusedFixture("deno", { journal: spec(port) });
    assertEquals(stdout, "");
    assertEquals(lines.length, 1, lines.join("\n"));
    assertMatch(lines[0] ?? "", new RegExp(`${name}|127\\.0\\.0\\.1:${port}`, "i"));
    assert(code !== 0);
  });

  test(`a hub is not opened over a ${name} that has gone away`, async () => {
    const broker = await start();
    try {
      const opened = await broker.open(broker.spec);
      await broker.down();
      const begun = performance.now();
      const error = await assertRejects(
        () => openHub({ journal: opened.journal }),
        JournalError,
      );
      assertEquals(error.fault, "unavailable");
      assertLess(performance.now() - begun, REFUSED_WITHIN_MS);
      await opened.close();
    } finally {
      await broker.dispose();
    }
  }, options);

  for (
    const [what, leave, comeBack] of [
      ["was killed", (broker: Broker) => broker.down(), (broker: Broker) => broker.up()],
      [
        "stands still",
        (broker: Broker) => broker.pause(),
        (broker: Broker) => Promise.resolve(broker.resume()),
      ],
    ] as const
  ) {
    test(
      `while ${name} ${what}, events are refused in time and the ring serves; then all goes on`,
      async () => {
        const broker = await start();
        try {
          const absence = { leave: () => leave(broker), comeBack: () => comeBack(broker) };
          await withoutBroker(broker, absence);
        } finally {
          broker.resume();
          await broker.dispose();
        }
      },
      options,
    );
  }
}

interface Absence {
  leave(): Promise<void>;
  comeBack(): Promise<void>;
}

async function withoutBroker(broker: Broker, absence: Absence): Promise<void> {
  const pod = await Pod.start(broker.open, {
    ...{ replayEvents: RING, keepaliveMs: 100, writeTimeoutMs: 10_000 },
  });
  const live = new Listener(pod.url);
  let late: Listener | undefined;
  try {
    await eventually(() => live.open, { what: "the live client" });
    const book = new Book(pod);
    for (let n = 1; n <= BEFORE; n++) assert(await book.publish(`${n}`));
    const epoch = await pod.epoch();
    const stream = await pod.stream(`${epoch}:0`);
    await stream.reached(BEFORE);
    await eventually(() => live.reached >= BEFORE, { what: "the live client to have all" });

    await absence.leave();
    // Together: a broker that stands still takes the whole time of each.
    const stored = await Promise.all([1, 2, 3].map((n) => book.publish(`away ${n}`)));
    assertEquals(stored, [false, false, false]);
    assertLess(book.slowestMs, REFUSED_WITHIN_MS);

    // Whoever is connected stays, and is told that the pod lives.
    const beats = stream.keepalives;
    await stream.until("three more keepalives", () => stream.keepalives >= beats + 3);
    assertEquals(live.open, true);
    for (let offset = BEFORE - RING; offset <= BEFORE; offset++) {
      assertEquals((await pod.ask(`${epoch}:${offset}`)).verdict, "resumed");
    }
    // Nobody can say what these have missed, or that they have: nobody does.
    const begun = performance.now();
    const answers = await Promise.all(
      [1, BEFORE - RING - 1, BEFORE + 5].map((offset) => pod.ask(`${epoch}:${offset}`)),
    );
    assertEquals(answers.map(({ verdict }) => verdict), [null, null, null]);
    assertLess(performance.now() - begun, TURNED_AWAY_WITHIN_MS);
    late = new Listener(pod.url, { cursor: `${epoch}:2` });
    const waiting = late;
    await eventually(() => waiting.failures > 0, { what: "a client to be turned away" });
    assertEquals(waiting.hellos, []);

    await absence.comeBack();
    await eventually(() => book.publish("back"), { what: "an event to be stored", everyMs: 50 });
    assert(await book.publish("after"));
    await eventually(() => live.data.at(-1) === "after", { what: "the live client to go on" });
    await eventually(() => waiting.data.at(-1) === "after", { what: "the late client" });
    assertEquals(await pod.epoch(), epoch);
    assertEquals(live.verdicts, ["fresh"], "it was never cut");
    assertEquals(waiting.verdicts, ["resumed"]);
    const { data, verdict } = await pod.ask(`${epoch}:0`);
    assertEquals(verdict, "resumed");
    assertEquals(live.data, data);
    assertEquals(waiting.data, data.slice(2));
    book.check(data);
    // A number that was never given is ahead of everything, and can be called so now.
    assertEquals((await pod.ask(`${epoch}:${data.length + 50}`)).verdict, "gap_ahead");
    await pod.askAll();
  } finally {
    live.stop();
    late?.stop();
    broker.resume();
    await pod.stop();
  }
}

/** What became of each publication. */
class Book {
  readonly #pod: Pod;
  readonly #stored: string[] = [];
  readonly #refused: string[] = [];
  readonly #doubtful: string[] = [];
  #attempts = 0;
  /** The longest time that a refusal has taken, in milliseconds. */
  slowestMs = 0;

  constructor(pod: Pod) {
    this.#pod = pod;
  }

  /** Publishes an event of its own, and says whether it was stored. */
  async publish(name: string): Promise<boolean> {
    const data = name === "after" ? name : `${name} #${++this.#attempts}`;
    const { status, code, message, tookMs } = await this.#pod.publish(data);
    if (status === 200) {
      this.#stored.push(data);
      return true;
    }
    assertEquals(status, 503, message);
    assertMatch(message, /^Cannot (use the journal|say whether the event was stored): ./);
    assert(["journal", "append_unknown"].includes(code), code);
    (code === "journal" ? this.#refused : this.#doubtful).push(data);
    this.slowestMs = Math.max(this.slowestMs, tookMs);
    return false;
  }

  /** Compares with what the journal holds. */
  check(data: readonly string[]): void {
    const doubtful = new Set(this.#doubtful);
    assertEquals(data.filter((each) => !doubtful.has(each)), this.#stored);
    assertEquals(new Set(data).size, data.length, "nothing is there twice");
    assertEquals(data.filter((each) => this.#refused.includes(each)), []);
  }
}
