// @ts-check
/**
 * @typedef {{ name: string, data: string, id: string | null }} ParsedEvent
 */

const MAX_BUFFER = 1_048_576;

/** The event-stream format: bytes in, events out, however the bytes are cut. */
export class Parser {
  /**
   * @param {{ onEvent: (event: ParsedEvent) => void, onId: (id: string) => void,
   *   onRetry: (ms: number) => void }} handlers
   */
  constructor(handlers) {
    this.handlers = handlers;
    // One byte order mark may start the stream; some decoders strip one from every chunk.
    this.decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    this.atStart = true;
    this.rest = "";
    this.afterCr = false;
    this.name = "";
    /** @type {string[]} */
    this.data = [];
    /** @type {string | null} */
    this.id = null;
    this.size = 0;
  }

  /** @param {Uint8Array} bytes */
  feed(bytes) {
    let text = this.decoder.decode(bytes, { stream: true });
    if (text === "") return;
    if (this.atStart ? text.startsWith("\ufeff") : this.afterCr && text.startsWith("\n")) {
      text = text.slice(1);
    }
    this.atStart = false;
    this.afterCr = text.endsWith("\r");
    const lines = (this.rest + text).split(/\r\n|\r|\n/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.line(line);
    if (this.rest.length + this.size > MAX_BUFFER) throw new Error("an event is too long");
  }

  /** @param {string} line */
  line(line) {
    if (line === "") return this.dispatch();
    if (line.startsWith(":")) return;
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "event") this.name = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    else if (field === "retry" && /^[0-9]+$/.test(value)) this.handlers.onRetry(Number(value));
    else if (field === "data") {
      this.data.push(value);
      this.size += value.length + 1;
    }
  }

  dispatch() {
    const { name, data, id } = this;
    Object.assign(this, { name: "", data: [], id: null, size: 0 });
    if (data.length > 0) this.handlers.onEvent({ name, data: data.join("\n"), id });
    else if (id !== null) this.handlers.onId(id);
  }
}
