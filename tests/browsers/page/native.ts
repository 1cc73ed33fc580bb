/**
 * A page with the browser's own `EventSource`, and with the few other things by which the harness is
 * tried.
 *
 * @module
 */
import { type LifeEvent, recordLife } from "./recorder.ts";

/** What happened to a source. */
export interface SourceEvent {
  /** `open`, `error`, or the name of an event. */
  readonly type: string;
  /** An event's data; of an error the source's `readyState`. */
  readonly data: string;
}

/** What the page offers as `globalThis.probe`. */
export interface NativeProbe {
  readonly life: readonly LifeEvent[];
  readonly events: readonly SourceEvent[];
  /** Opens a source. */
  listen(url: string): void;
  /** Closes it. */
  silence(): void;
  /** Starts plain fetches of one address; returns at once. `heads` counts the answers. */
  fetchMany(url: string, count: number, cache: RequestCache): void;
  readonly heads: number;
  /** Reads a stream to its end, and keeps its text, and how it ended: `end`, or the error's text. */
  read(url: string): void;
  readonly text: string;
  readonly ending: string;
  /** Holds a lock for as long as the browser lets it; `lockLost` then says why no longer. */
  lock(): Promise<void>;
  readonly lockLost: string;
  /** Whether the lock can be had. */
  lockFree(): Promise<boolean>;
  /** Says hello to the profile's shared worker; returns which life of it answers, and how often. */
  greet(): Promise<{ readonly life: string; readonly greetings: number }>;
}

const LOCK = "tidemark-harness";

class Probe implements NativeProbe {
  readonly life: readonly LifeEvent[] = recordLife();
  readonly events: SourceEvent[] = [];
  heads = 0;
  text = "";
  ending = "";
  lockLost = "";
  #source: EventSource | null = null;

  listen(url: string): void {
    const source = new EventSource(url);
    const note = (type: string, data: string): void => void this.events.push({ type, data });
    source.onopen = () => note("open", "");
    source.onerror = () => note("error", String(source.readyState));
    for (const type of ["message", "sse:hello", "news"]) {
      source.addEventListener(type, (event) => note(type, (event as MessageEvent<string>).data));
    }
    this.#source = source;
  }

  silence(): void {
    this.#source?.close();
  }

  fetchMany(url: string, count: number, cache: RequestCache): void {
    for (let i = 0; i < count; i++) fetch(url, { cache }).then(() => this.heads++, () => {});
  }

  read(url: string): void {
    const drain = async (): Promise<void> => {
      const { body } = await fetch(url, { cache: "no-store" });
      const reader = body?.getReader();
      const decoder = new TextDecoder();
      this.heads++;
      while (reader !== undefined) {
        const { done, value } = await reader.read();
        if (done) return;
        this.text += decoder.decode(value, { stream: true });
      }
    };
    drain().then(() => this.ending = "end", (error) => this.ending = String(error));
  }

  lock(): Promise<void> {
    return new Promise((resolve) => {
      navigator.locks.request(LOCK, () => {
        resolve();
        return new Promise(() => {});
      }).catch((error) => this.lockLost = String(error));
    });
  }

  lockFree(): Promise<boolean> {
    return navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => lock !== null);
  }

  greet(): ReturnType<NativeProbe["greet"]> {
    return new Promise((resolve) => {
      const { port } = new SharedWorker("/script/greeter.js", { type: "module" });
      port.onmessage = ({ data }) => resolve(data);
      port.postMessage("hello");
    });
  }
}

Object.assign(globalThis, { probe: new Probe() });
