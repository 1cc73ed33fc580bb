import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { RelayError } from "../../../src/errors/relay.ts";
import { Confirmer, type ConfirmerOptions } from "../../../src/relay/confirmer.ts";
import { test } from "../../support/test.ts";

/** A broker whose answers a test gives. */
class Answers {
  /** How often it was asked. */
  asked = 0;
  /** How many interruptions were told. */
  told = 0;
  #answer: { readonly ok: () => void; readonly fail: (error: unknown) => void } | null = null;

  readonly options: ConfirmerOptions = {
    confirm: () => {
      this.asked++;
      return new Promise((ok, fail) => this.#answer = { ok, fail });
    },
    resumed: () => void this.told++,
  };

  /** Answers the last question. */
  async confirm(): Promise<void> {
    this.#answer?.ok();
    await turn();
  }

  /** Does not answer it. */
  async fail(error: unknown = new Error("the connection broke")): Promise<void> {
    this.#answer?.fail(error);
    await turn();
  }
}

const { setTimeout: startTimer } = globalThis;

/** Lets everything run that can. */
function turn(): Promise<void> {
  return new Promise((resolve) => startTimer(resolve, 0));
}

test("a confirmation settles the beginning, and is no interruption", async () => {
  const answers = new Answers();
  const confirmer = new Confirmer(answers.options);
  const begun = confirmer.begin(undefined);
  await answers.confirm();
  await begun;
  assertEquals([answers.asked, answers.told], [1, 0]);
  confirmer.end(null);
});

test("what the broker refuses ends the beginning, and later it is an interruption", async () => {
  for (const fault of ["failed", "closed"] as const) {
    const answers = new Answers();
    const begun = new Confirmer(answers.options).begin(undefined);
    const error = new RelayError(fault, "no");
    const rejected = assertRejects(() => begun, RelayError);
    await answers.fail(error);
    assertEquals(await rejected, error);
  }
  const answers = new Answers();
  const confirmer = new Confirmer(answers.options);
  const begun = confirmer.begin(undefined);
  await answers.confirm();
  await begun;
  confirmer.refuse(new Error("no longer"));
  await turn();
  assertEquals([answers.asked, answers.told], [2, 0]);
  await answers.confirm();
  assertEquals(answers.told, 1);
  confirmer.end(null);
});

test("a refusal that is told aside ends the beginning with what the broker said", async () => {
  const confirmer = new Confirmer(new Answers().options);
  const begun = confirmer.begin(undefined);
  const said = new Error("Permissions Violation");
  confirmer.refuse(said);
  const error = await assertRejects(() => begun, RelayError);
  assertEquals([error.fault, error.cause], ["failed", said]);
});

test("an unavailable broker is asked again after a second, and one that does not answer after 5", async () => {
  const waits: number[] = [];
  const due: (() => void)[] = [];
  // Timers that are run by hand, in the place of the runtime's.
  const stand = (callback: () => void, ms: number): number => {
    waits.push(ms);
    due.push(callback);
    return 0;
  };
  const { setTimeout } = globalThis;
  Object.assign(globalThis, { setTimeout: stand });
  const answers = new Answers();
  const confirmer = new Confirmer(answers.options);
  try {
    const begun = confirmer.begin(undefined);
    assertEquals(waits, [5000], "the first attempt");
    await answers.fail(new RelayError("unavailable", "it is away"));
    assertEquals([waits, answers.asked], [[5000, 1000], 1], "it waits");
    due[1]?.();
    await turn();
    assertEquals([waits, answers.asked], [[5000, 1000, 5000], 2], "the second attempt");
    due[2]?.();
    await turn();
    assertEquals(waits.at(-1), 1000, "it was given up");
    due[3]?.();
    await turn();
    assertEquals(answers.asked, 3);
    await answers.confirm();
    await begun;
  } finally {
    Object.assign(globalThis, { setTimeout });
    confirmer.end(null);
  }
});

test("a signal gives up an attempt that hangs, and nothing once it is confirmed", async () => {
  const attempt = new AbortController();
  const begun = new Confirmer(new Answers().options).begin(attempt.signal);
  const reason = new RangeError("given up");
  attempt.abort(reason);
  assertEquals(await assertRejects(() => begun, RangeError), reason);

  const answers = new Answers();
  const later = new AbortController();
  const confirmer = new Confirmer(answers.options);
  const confirmed = confirmer.begin(later.signal);
  await answers.confirm();
  await confirmed;
  later.abort();
  confirmer.interrupt();
  await turn();
  await answers.confirm();
  assertEquals(answers.told, 1);
  confirmer.end(null);
});

test("who is interrupted anew by what it hears of the end is asked for once, not twice", async () => {
  const answers = new Answers();
  const confirmer = new Confirmer({
    confirm: answers.options.confirm,
    resumed() {
      confirmer.interrupt();
      confirmer.wake();
    },
  });
  const begun = confirmer.begin(undefined);
  await answers.confirm();
  await begun;
  confirmer.interrupt();
  await turn();
  await answers.confirm();
  assertEquals(answers.asked, 3);
  confirmer.end(null);
});

type Step = "confirm" | "fail" | "interrupt" | "wake";

/** What must come of each step. */
class Model {
  asked = 1;
  told = 0;
  #state: "asked" | "confirmed" | "pausing" = "asked";
  #everConfirmed = false;
  #woken = false;

  apply(step: Step): void {
    const state = this.#state;
    if (step === "wake") {
      if (state === "pausing") this.#ask();
      else this.#woken = true;
    } else if (state === "asked") {
      if (step === "confirm") this.#confirmed();
      else if (this.#woken) this.#ask();
      else this.#state = "pausing";
    } else if (state === "confirmed" && step === "interrupt") {
      this.#ask();
    }
  }

  #ask(): void {
    this.#state = "asked";
    this.#woken = false;
    this.asked++;
  }

  #confirmed(): void {
    if (this.#everConfirmed) this.told++;
    this.#everConfirmed = true;
    this.#state = "confirmed";
  }
}

test("whatever happens in whichever order, each interruption is told once, when it is over", async () => {
  const step = fc.constantFrom<Step>("confirm", "fail", "interrupt", "wake");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const answers = new Answers();
      const confirmer = new Confirmer(answers.options);
      const acts: Readonly<Record<Step, () => unknown>> = {
        confirm: () => answers.confirm(),
        fail: () => answers.fail(),
        interrupt: () => confirmer.interrupt(),
        wake: () => confirmer.wake(),
      };
      const model = new Model();
      confirmer.begin(undefined).catch(() => {});
      for (const what of steps) {
        await acts[what]();
        await turn();
        model.apply(what);
        assertEquals([answers.asked, answers.told], [model.asked, model.told], steps.join());
      }
      confirmer.end(new Error("over"));
      await answers.confirm();
      assertEquals([answers.asked, answers.told], [model.asked, model.told], "nothing after it");
    }),
    { numRuns: 60 },
  );
});
