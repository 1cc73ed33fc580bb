/**
 * A client of any hub, whose stream is parsed once, as it comes.
 *
 * @module
 */
import type { ServeOptions, StreamHub } from "../../src/hub/types.ts";
import { RecordingSink } from "../../src/testing/recording_sink.ts";
import { type Hello, parseHello } from "../../src/wire/hello.ts";
import { Parser } from "../../src/wire/parser.ts";
import type { Report } from "./reports.ts";

/** One connection: its runtime, and what it has been sent. */
export class JournalClient {
  readonly sink: RecordingSink;
  readonly #reports: Report[] = [];
  readonly #parser = new Parser({
    onEvent: ({ name, data, id }) => this.#reports.push({ kind: "event", name, data, id }),
    onId: (id) => this.#reports.push({ kind: "id", id }),
    onComment: (text) => this.#reports.push({ kind: "comment", text }),
    onRetry: (ms) => this.#reports.push({ kind: "retry", ms }),
  });
  #parsed = 0;

  /**
   * @param hub The hub.
   * @param options What `serve` is given.
   * @param asked Its cursor, and whether it declares lag.
   * @param ready Whether its runtime takes chunks at first.
   */
  constructor(
    hub: Pick<StreamHub, "serve">,
    options: ServeOptions = {},
    asked: { readonly cursor?: string; readonly lag?: boolean } = {},
    ready = true,
  ) {
    const headers = new Headers();
    if (asked.cursor !== undefined) headers.set("Last-Event-ID", asked.cursor);
    if (asked.lag === true) headers.set("SSE-Lag", "1");
    const request = new Request("http://localhost/events", { headers });
    this.sink = RecordingSink.for(hub.serve(request, options), ready);
  }

  /** Everything it was sent, in order. */
  get reports(): readonly Report[] {
    for (; this.#parsed < this.sink.chunks.length; this.#parsed++) {
      this.#parser.feed(this.sink.chunks[this.#parsed] ?? new Uint8Array());
    }
    return this.#reports;
  }

  /** The data of the events of one name. */
  named(name: string): string[] {
    return this.reports.flatMap((one) =>
      one.kind === "event" && one.name === name ? [one.data] : []
    );
  }

  /** The data of the application's events. */
  get data(): string[] {
    return this.reports.flatMap((one) =>
      one.kind === "event" && !one.name.startsWith("sse:") ? [one.data] : []
    );
  }

  /** A short account: data, names of the library's own events, `#n` for an id alone, `retry`. */
  get story(): string[] {
    return this.reports.map((one) => {
      if (one.kind === "event") return one.name.startsWith("sse:") ? one.name : one.data;
      if (one.kind === "id") return `#${one.id.split(":")[1]}`;
      return one.kind === "retry" ? "retry" : `: ${one.text}`;
    });
  }

  /** The hello; `null` while there is none. */
  get hello(): Hello | null {
    const [found] = this.named("sse:hello");
    return found === undefined ? null : parseHello(found);
  }

  /** The id that a late subscription names; `""` while there is none. */
  get connection(): string {
    return this.hello?.connection ?? "";
  }

  /** Whether its stream has ended. */
  get over(): boolean {
    return this.sink.ended || this.sink.destroyed;
  }
}
