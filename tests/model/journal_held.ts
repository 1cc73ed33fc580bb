/**
 * A journal whose answers are under a test's control: they wait, overtake each other, fail, or never
 * come.
 *
 * @module
 */
import { JournalError } from "../../src/errors/journal.ts";
import type {
  Appended,
  Journal,
  JournalEntry,
  JournalEvent,
  JournalPage,
  JournalQuery,
  JournalRange,
  JournalWindow,
  TailOptions,
} from "../../src/journal/journal.ts";

/** How an answer that waited is given. */
export type Answer = "early" | "late" | "fail";

interface Question {
  readonly what: string;
  answer(how: Answer): void;
}

/** A journal in front of another one. */
export class HeldJournal implements Journal {
  readonly maxBytes: number;
  /** The journal behind it; a test may put another one there, as a restored copy would stand there. */
  inner: Journal;
  /** Whether answers to `window`, `read` and `count` wait for {@linkcode answer}. */
  held = false;
  /** Whether every question is refused. */
  away = false;
  /** The most questions that were open at once, without those of the tail and the appends. */
  most = 0;
  /** How many questions were asked. */
  asked = 0;
  /** The most entries that a page was asked for. */
  largestPage = 0;
  /** What was asked and not answered yet. */
  readonly waiting: Question[] = [];
  #tailHeld = false;
  #openTail: (() => void)[] = [];
  #tails = new Set<AbortController>();
  #open = 0;

  /** @param inner The journal behind it. */
  constructor(inner: Journal) {
    this.inner = inner;
    this.maxBytes = inner.maxBytes;
  }

  window(): Promise<JournalWindow> {
    return this.#ask("window", () => this.inner.window());
  }

  read(query: JournalQuery): Promise<JournalPage> {
    this.largestPage = Math.max(this.largestPage, query.limit);
    return this.#ask("read", () => this.inner.read(query));
  }

  count(range: JournalRange, enough: number): Promise<number> {
    return this.#ask("count", () => this.inner.count(range, enough));
  }

  append(event: JournalEvent): Promise<Appended> {
    if (this.away) return Promise.reject(new JournalError("unavailable", "it is away"));
    return this.inner.append(event);
  }

  rotate(from: string): Promise<string> {
    return this.inner.rotate(from);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  async *tail({ epoch, after, signal }: TailOptions): AsyncGenerator<readonly JournalEntry[]> {
    if (this.away) throw new JournalError("unavailable", "it is away");
    const broken = new AbortController();
    const stop = (): void => broken.abort();
    signal.addEventListener("abort", stop, { once: true });
    this.#tails.add(broken);
    try {
      for await (const batch of this.inner.tail({ epoch, after, signal: broken.signal })) {
        while (this.#tailHeld && !broken.signal.aborted) {
          await new Promise<void>((resolve) => {
            this.#openTail.push(resolve);
            broken.signal.addEventListener("abort", () => resolve(), { once: true });
          });
        }
        if (broken.signal.aborted) break;
        yield batch;
      }
    } finally {
      this.#tails.delete(broken);
      signal.removeEventListener("abort", stop);
    }
    if (!signal.aborted) throw new JournalError("unavailable", "the tail broke");
  }

  /** Lets the tail give nothing, or everything again. */
  holdTail(held: boolean): void {
    this.#tailHeld = held;
    if (!held) { for (const open of this.#openTail.splice(0)) open(); }
  }

  /** Breaks every tail. */
  breakTails(): void {
    for (const tail of this.#tails) tail.abort();
  }

  /**
   * Answers one question that waits.
   *
   * @param index Which, counted around.
   * @param how With what was true when it was asked, with what is true now, or with a failure.
   */
  answer(index: number, how: Answer): void {
    if (this.waiting.length === 0) return;
    this.waiting.splice(index % this.waiting.length, 1)[0]?.answer(how);
  }

  /** Answers everything from now on. */
  release(): void {
    this.held = false;
    this.away = false;
    this.holdTail(false);
    for (const question of this.waiting.splice(0)) question.answer("late");
  }

  async #ask<T>(what: string, put: () => Promise<T>): Promise<T> {
    if (this.away) throw new JournalError("unavailable", "it is away");
    this.#open++;
    this.asked++;
    this.most = Math.max(this.most, this.#open);
    try {
      const early = await put();
      if (!this.held) return early;
      const how = await new Promise<Answer>((answer) => this.waiting.push({ what, answer }));
      if (how === "fail") throw new JournalError("unavailable", "it failed");
      return how === "early" ? early : await put();
    } finally {
      this.#open--;
    }
  }
}
