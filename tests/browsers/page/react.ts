/**
 * A page with a component that shows a stream, in the real React, in its development build and, where
 * the test says so, in its strict mode.
 *
 * @module
 */
import * as reactModule from "react";
import * as domModule from "react-dom/client";
import { createHooks, type ReactLike, type StreamStore } from "../../../src/react/mod.ts";
import { type LifeEvent, recordLife } from "./recorder.ts";

/** What is used of React besides; it brings no types along. */
interface React extends ReactLike {
  createElement(type: unknown, properties: object | null, ...children: unknown[]): unknown;
  readonly StrictMode: unknown;
}

interface Root {
  render(element: unknown): void;
  unmount(): void;
}

interface ReactDom {
  createRoot(container: Element): Root;
  hydrateRoot(container: Element, element: unknown): Root;
}

/** What a component is to show. */
export interface RoomDescription {
  readonly topic: string;
  /** Stands before each line that is reduced from now on. */
  readonly prefix?: string;
  readonly strict?: boolean;
}

/** What the page offers as `globalThis.probe`. */
export interface ReactProbe {
  readonly life: readonly LifeEvent[];
  /** Renders the component, at first or anew. */
  show(description: RoomDescription): void;
  /** The same over what a server would have rendered. */
  hydrate(description: RoomDescription): void;
  /** Takes it away. */
  unmount(): void;
  /** Its lines; `null` while there is none. */
  lines(): string | null;
  /** The lines as a component below it shows them. */
  echo(): string | null;
  /** The state of the stream, as it shows it. */
  state(): string | null;
  /** How often the component that shows no frames was rendered. */
  readonly renders: number;
  /** How often the state was fetched. */
  readonly revalidations: number;
}

const react = reactModule as unknown as React;
const dom = domModule as unknown as ReactDom;
const { createElement: element } = react;
const { useFrames, useStream, useStreamState } = createHooks(react);

type Lines = readonly string[];

class Probe implements ReactProbe {
  readonly life: readonly LifeEvent[] = recordLife();
  renders = 0;
  revalidations = 0;
  #root: Root | null = null;

  readonly #Lines = ({ room, id }: { room: StreamStore<Lines>; id: string }): unknown =>
    element("p", { id }, useFrames(room).join(" "));

  readonly #State = ({ room }: { room: StreamStore<Lines> }): unknown =>
    element("p", { id: "state" }, useStreamState(room));

  readonly #Room = ({ topic, prefix = "" }: RoomDescription): unknown => {
    this.renders++;
    const room = useStream<Lines>({
      url: `/events?topic=${topic}`,
      initial: [],
      reduce: (lines, { id, data }) => id === null ? lines : [...lines, `${prefix}${data}`],
      revalidate: () => {
        this.revalidations++;
        return undefined;
      },
    });
    return [
      element(this.#Lines, { key: 1, room, id: "lines" }),
      element(this.#Lines, { key: 2, room, id: "echo" }),
      element(this.#State, { key: 3, room }),
    ];
  };

  show(description: RoomDescription): void {
    this.#root ??= dom.createRoot(this.#container());
    this.#root.render(this.#tree(description));
  }

  hydrate(description: RoomDescription): void {
    const container = this.#container();
    container.innerHTML = '<p id="lines"></p><p id="echo"></p><p id="state">stopped</p>';
    this.#root = dom.hydrateRoot(container, this.#tree(description));
  }

  unmount(): void {
    this.#root?.unmount();
    this.#root = null;
  }

  lines(): string | null {
    return this.#text("lines");
  }

  echo(): string | null {
    return this.#text("echo");
  }

  state(): string | null {
    return this.#text("state");
  }

  #tree(description: RoomDescription): unknown {
    const room = element(this.#Room, description);
    return description.strict === true ? element(react.StrictMode, null, room) : room;
  }

  #container(): Element {
    return document.body.appendChild(document.createElement("main"));
  }

  #text(id: string): string | null {
    return document.getElementById(id)?.textContent ?? null;
  }
}

Object.assign(globalThis, { probe: new Probe() });
