/**
 * A deliberately naive reading of the event-stream format: the whole input at once, each step as the
 * WHATWG HTML standard words it (section 9.2.6, "Interpreting an event stream"), no chunk, no bound,
 * no care for speed. The parser is compared with it.
 *
 * @module
 */

/** What the standard makes of a whole stream, and besides what it lets nobody see. */
export interface NaiveReading {
  /** Each dispatched event, with the last event ID it carries. */
  readonly events: readonly {
    readonly type: string;
    readonly data: string;
    readonly lastEventId: string;
  }[];
  /** The last event ID string with which a reconnect would be made. */
  readonly lastEventId: string;
  /** Each reconnection time that was set. */
  readonly retries: readonly number[];
  /** Each comment line: what follows its colon, without one leading space. */
  readonly comments: readonly string[];
}

/**
 * Reads a stream.
 *
 * @param bytes All of it.
 * @returns What it says.
 */
export function readNaively(bytes: Uint8Array): NaiveReading {
  // "UTF-8 decode": replaces what is malformed and strips one leading byte order mark.
  const text = new TextDecoder("utf-8").decode(bytes);
  const lines = text.split(/\r\n|\r|\n/);
  // What follows the last line end is an unfinished line.
  lines.pop();

  const events: { type: string; data: string; lastEventId: string }[] = [];
  const retries: number[] = [];
  const comments: string[] = [];
  let dataBuffer = "";
  let eventTypeBuffer = "";
  let lastEventIdBuffer = "";
  let lastEventId = "";

  const processField = (field: string, value: string): void => {
    switch (field) {
      case "event":
        // "Set the event type buffer to the field value."
        eventTypeBuffer = value;
        return;
      case "data":
        // "Append the field value to the data buffer, then append a single U+000A."
        dataBuffer = dataBuffer + value + "\n";
        return;
      case "id":
        // "If the field value does not contain U+0000 NULL, set the last event ID buffer to it."
        if (value.indexOf("\u0000") < 0) lastEventIdBuffer = value;
        return;
      case "retry":
        // "If the field value consists of only ASCII digits, interpret it in base ten." Browsers do
        // not take an empty value for digits.
        if (value !== "" && [...value].every((c) => "0123456789".includes(c))) {
          retries.push(Number(value));
        }
        return;
    }
    // "Otherwise: the field is ignored."
  };

  const dispatch = (): void => {
    // "Set the last event ID string of the event source to the value of the last event ID buffer."
    lastEventId = lastEventIdBuffer;
    // "If the data buffer is an empty string, set both buffers to the empty string and return."
    if (dataBuffer === "") {
      eventTypeBuffer = "";
      return;
    }
    // "If the data buffer's last character is a U+000A, remove it."
    if (dataBuffer.endsWith("\n")) dataBuffer = dataBuffer.slice(0, -1);
    events.push({ type: eventTypeBuffer || "message", data: dataBuffer, lastEventId });
    dataBuffer = "";
    eventTypeBuffer = "";
  };

  for (const line of lines) {
    if (line === "") {
      dispatch();
    } else if (line.startsWith(":")) {
      comments.push(line.startsWith(": ") ? line.slice(2) : line.slice(1));
    } else if (line.includes(":")) {
      const field = line.split(":")[0] ?? "";
      let value = line.slice(field.length + 1);
      if (value.startsWith(" ")) value = value.slice(1);
      processField(field, value);
    } else {
      processField(line, "");
    }
  }
  return { events, lastEventId, retries, comments };
}
