/**
 * A page that listens in two ways at once: by the browser's own `EventSource`, and by ours.
 *
 * @module
 */
import { createEventSource } from "../../../src/client/event_source.ts";
import { type LifeEvent, recordLife } from "./recorder.ts";

/** What a source told, in order: the event's type, the source's `readyState`, and what it carried. */
export type Story = readonly (readonly unknown[])[];

/** What the page offers as `globalThis.probe`. */
export interface SourcesProbe {
  readonly life: readonly LifeEvent[];
  /** Opens both. */
  listen(url: string): void;
  /** What each told: the browser's, then ours. */
  stories(): readonly [Story, Story];
  /** Closes both. */
  close(): void;
  /** How many exceptions reached `window.onerror`. */
  readonly errors: number;
}

class Probe implements SourcesProbe {
  readonly life: readonly LifeEvent[] = recordLife();
  errors = 0;
  readonly #sources: EventSource[] = [];
  readonly #stories: [unknown[][], unknown[][]] = [[], []];

  constructor() {
    addEventListener("error", () => this.errors++);
  }

  listen(url: string): void {
    this.#sources.push(new EventSource(url), createEventSource(url));
    this.#sources.forEach((source, index) => {
      const story = this.#stories[index];
      const note = (event: Event): void => {
        const { data, lastEventId, origin } = event as MessageEvent<string>;
        story?.push([event.type, source.readyState, data, lastEventId, origin]);
      };
      story?.push([source.readyState, source.url, source.withCredentials]);
      source.addEventListener("news", ({ data }) => {
        if (data === "throw") throw new Error("on purpose");
      });
      source.addEventListener("news", note);
      source.onopen = note;
      source.onerror = note;
      source.onmessage = note;
    });
  }

  stories(): readonly [Story, Story] {
    return this.#stories;
  }

  close(): void {
    this.#sources.forEach((source, index) => {
      source.close();
      this.#stories[index]?.push([source.readyState]);
    });
  }
}

Object.assign(globalThis, { probe: new Probe() });
