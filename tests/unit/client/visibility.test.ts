/** Whether anybody sees the page: a page made by hand, as browsers show theirs. */
import { assertEquals } from "@std/assert";
import { documentVisibility } from "../../../src/client/visibility.ts";
import type { VisibilitySignal } from "../../../src/client/types.ts";
import { test } from "../../support/test.ts";

/** A target of events that knows who listens to it. */
class Counted extends EventTarget {
  readonly listeners = new Map<string, number>();

  override addEventListener(...args: Parameters<EventTarget["addEventListener"]>): void {
    this.listeners.set(args[0], (this.listeners.get(args[0]) ?? 0) + 1);
    super.addEventListener(...args);
  }

  override removeEventListener(...args: Parameters<EventTarget["removeEventListener"]>): void {
    this.listeners.set(args[0], (this.listeners.get(args[0]) ?? 0) - 1);
    super.removeEventListener(...args);
  }

  get left(): number {
    return [...this.listeners.values()].reduce((sum, count) => sum + count, 0);
  }
}

/** A page: its document, its window, and what a source over it says. */
class Page extends Counted {
  readonly document: Counted & { visibilityState: string } = Object.assign(new Counted(), {
    visibilityState: "visible",
  });
  readonly said: VisibilitySignal[] = [];
  readonly source = documentVisibility(this);
  readonly leave: () => void;

  constructor(state = "visible") {
    super();
    this.document.visibilityState = state;
    this.leave = this.source.subscribe((signal) => this.said.push(signal));
  }

  turn(state: "visible" | "hidden"): void {
    this.document.visibilityState = state;
    this.document.dispatchEvent(new Event("visibilitychange"));
  }

  fire(type: "freeze" | "resume"): void {
    this.document.dispatchEvent(new Event(type));
  }

  pass(type: "pagehide" | "pageshow", persisted = false): void {
    this.dispatchEvent(Object.assign(new Event(type), { persisted }));
  }

  /** What was said since it was asked last. */
  heard(): VisibilitySignal[] {
    return this.said.splice(0);
  }
}

test("where there is no document somebody sees the page for ever, and nobody listens", () => {
  const scope = new Counted();
  const source = documentVisibility(scope);
  const leave = source.subscribe(() => {
    throw new Error("There is nothing to say");
  });
  for (const type of ["pageshow", "pagehide"]) scope.dispatchEvent(new Event(type));
  assertEquals([source.hidden(), scope.left], [false, 0]);
  leave();
  // The runtimes of the tests have no document, either.
  assertEquals(documentVisibility().hidden(), false);
});

test("a page is hidden when its document says so, and each change is said", () => {
  const page = new Page("hidden");
  assertEquals(page.source.hidden(), true);
  page.turn("visible");
  assertEquals([page.source.hidden(), page.heard()], [false, ["visible"]]);
  page.turn("hidden");
  assertEquals([page.source.hidden(), page.heard()], [true, ["hidden"]]);
  // Chromium once said so of a page that is drawn before it is shown.
  page.document.visibilityState = "prerender";
  assertEquals(page.source.hidden(), false);
});

test("the pageshow of a page that loads says nothing", () => {
  const page = new Page();
  page.pass("pageshow");
  assertEquals(page.heard(), []);
});

test("a page that comes back says so, whether the browser calls it persisted or not", () => {
  for (const persisted of [true, false]) {
    const page = new Page();
    page.pass("pageshow");
    page.pass("pagehide", true);
    page.pass("pageshow", persisted);
    assertEquals(page.heard(), ["pagehide", "pageshow"]);
    // It does so once.
    page.pass("pageshow");
    assertEquals(page.heard(), []);
  }
});

test("a page that was persisted says that it is back even if its leaving was not heard", () => {
  const page = new Page();
  page.pass("pageshow", true);
  assertEquals(page.heard(), ["pageshow"]);
});

test("a frozen page is left, and a thawed one is visible", () => {
  const page = new Page();
  page.turn("hidden");
  page.heard();
  page.fire("freeze");
  assertEquals(page.heard(), ["pagehide"]);
  page.document.visibilityState = "visible";
  page.fire("resume");
  assertEquals(page.heard(), ["visible"]);
});

test("a page that is thawed while nobody sees it is hidden from then on", () => {
  const page = new Page("hidden");
  page.fire("freeze");
  page.fire("resume");
  assertEquals(page.heard(), ["pagehide", "visible", "hidden"]);
});

test("each subscription hears everything once, and leaves no listener behind", () => {
  const page = new Page();
  const others: VisibilitySignal[] = [];
  const leave = page.source.subscribe((signal) => others.push(signal));
  assertEquals([page.left, page.document.left], [4, 6]);
  page.turn("hidden");
  leave();
  assertEquals([page.left, page.document.left], [2, 3]);
  page.turn("visible");
  page.pass("pagehide");
  assertEquals([page.heard(), others], [["hidden", "visible", "pagehide"], ["hidden"]]);
  page.leave();
  assertEquals([page.left, page.document.left], [0, 0]);
  page.turn("hidden");
  page.pass("pagehide");
  page.fire("freeze");
  assertEquals(page.heard(), []);
});

test("a page that was left and subscribed to again has no memory of its leaving", () => {
  const page = new Page();
  page.pass("pagehide");
  page.leave();
  page.heard();
  page.source.subscribe((signal) => page.said.push(signal));
  page.pass("pageshow");
  assertEquals(page.heard(), []);
});
