/**
 * The golden table: what the stream's machine makes of every event in every state, as a text that a
 * person can read, and read a difference of.
 *
 * @module
 */
import type { Demand } from "../../src/client/demand.ts";
import type { DeliveryState, LinkState, MachineState, Run } from "../../src/client/machine.ts";
import { INITIAL } from "../../src/client/machine.ts";
import type { LifecycleRecord } from "../../src/client/records.ts";
import { reduce } from "../../src/client/reducer.ts";
import type { Effect, StreamEvent } from "../../src/client/step.ts";
import type { StreamState } from "../../src/client/types.ts";
import type { Cursor } from "../../src/wire/cursor.ts";
import { A, EVENTS, type Sample } from "./events.ts";
import { nameOf, RAND, type Row, rows, timeOf } from "./states.ts";

const HEAD =
  `The stream's machine, event by event: \`reduce(state, event, context)\` of src/client/reducer.ts.
Written by \`npm run golden\`; tests/unit/client/machine/golden.test.ts compares.

Each section is a state, and says what in it is not as in a stream before its start. Each line is an
event, the kind of state it leads to, what else it changes, and what it asks for, in order:

  event -> kind: what changes | WHAT IS ASKED FOR, record

The first state of a kind has all events, the others ("as ...") only those with another outcome.
"nothing" are events which change nothing and ask for nothing; "dropped" are reports which come in an
order in which they cannot come. A report of an attempt before is dropped in every state; where one
were not, it would have a line of its own.

Times are in milliseconds from the event on: "+15000" is in 15 s, "-100" was 0.1 s ago. Cursors are
"A:5" or "B:5", for two epochs. An event happens 0.1 s after the state was reached, unless it says "10
min later", which is after every wait. Chance is ${RAND}. Attempts and runs are numbered only where
they are not the newest ones. "state:KIND" is the record of a change of state, with a backoff's wait.
`;

/** One state's outcomes, by the event's name. */
type Outcomes = ReadonlyMap<string, string>;

const NOTHING = "nothing";
const DROPPED = "dropped";

/** Writes the whole table. */
export function writeTable(): string {
  const first = new Map<string, readonly [Row, Outcomes]>();
  const sections = rows().map((row) => {
    const outcomes = outcomesOf(row);
    const { kind } = row.state.link;
    const base = first.get(kind);
    if (base === undefined) first.set(kind, [row, outcomes]);
    return section(row, outcomes, base);
  });
  return HEAD + sections.join("");
}

function section(
  { name, now, state }: Row,
  outcomes: Outcomes,
  base: readonly [Row, Outcomes] | undefined,
): string {
  const told = [...outcomes].filter(([event, text]) => base?.[1].get(event) !== text);
  const lines = told.filter(([, text]) => text !== NOTHING && text !== DROPPED)
    .map(([event, text]) => `${event} -> ${text}`);
  for (const group of [NOTHING, DROPPED]) {
    const events = told.filter(([, text]) => text === group).map(([event]) => event);
    if (events.length > 0) lines.push(`${group}: ${byType(events)}`);
  }
  const as = base === undefined ? "" : ` (as ${base[0].name}, but)`;
  const described = describe(INITIAL, state, now);
  return `\n## ${name}${as}\n   ${described === "" ? "the initial state" : described}\n` +
    lines.map((line) => `${line}\n`).join("");
}

/** `reset: slow, reset: shutdown` as `reset`, when these are all that there are. */
function byType(events: readonly string[]): string {
  const left = new Set(events);
  const names = Object.entries(EVENTS).flatMap(([type, samples]) => {
    const all = samples.map((one) => nameOf(type as StreamEvent["type"], one));
    const here = all.filter((event) => left.delete(event));
    return here.length === all.length ? [type] : here;
  });
  return [...names, ...left].join("; ");
}

function outcomesOf(row: Row): Outcomes {
  const outcomes = new Map<string, string>();
  for (const [type, samples] of Object.entries(EVENTS)) {
    for (const one of samples) {
      const event = one.make(row.state);
      const name = nameOf(type as StreamEvent["type"], one);
      outcomes.set(name, outcome(event, one, row));
      if (!("generation" in event)) continue;
      const late = outcome({ ...event, generation: event.generation - 1 }, one, row);
      if (late !== DROPPED) outcomes.set(`${name}, of an attempt before`, late);
    }
  }
  return outcomes;
}

function outcome(event: StreamEvent, { when }: Sample, row: Row): string {
  const now = timeOf(row.state, when, row.now, row.config);
  const context = { now, rand: RAND, blank: false, config: row.config };
  const [state, effects] = reduce(row.state, event, context);
  const changed = describe(row.state, state, now);
  const asked = effects.map((effect) => effectOf(effect, row.state, state)).join(", ");
  if (changed === "" && asked === "stale_event") return DROPPED;
  if (changed === "" && asked === "") return NOTHING;
  const { kind } = state.link;
  return `${kind}${changed === "" ? "" : `: ${changed}`}${asked === "" ? "" : ` | ${asked}`}`;
}

/**
 * What of a state is not as it was, other than its kind. A field that means nothing in a kind is not
 * told there, and begins anew when it means something again.
 */
function describe(before: MachineState, after: MachineState, now: number): string {
  const [none, old, made] = [INITIAL, before, after].map((one) => fields(one, now, before));
  return Object.entries(made ?? {}).flatMap(([name, value]) => {
    if (!matters(name, after)) return [];
    const was = matters(name, before) ? old?.[name] : none?.[name];
    return value === was ? [] : [`${name} ${value}`];
  }).join(", ");
}

/** In which kinds these fields mean something; the others do in all. */
const KINDS: { readonly [K in keyof LinkState]?: readonly StreamState[] } = {
  until: ["connecting", "backoff"],
  head: ["connecting"],
  openedAt: ["open"],
  lastByteAt: ["open"],
  watchdogMs: ["open"],
  paused: ["connecting", "open"],
  reset: ["open"],
};

function matters(name: string, { link }: MachineState): boolean {
  return KINDS[name as keyof LinkState]?.includes(link.kind) ?? true;
}

type Fields = Readonly<Record<string, string>>;

function fields({ link, delivery }: MachineState, now: number, before: MachineState): Fields {
  return {
    ...linkFields(link, now, link.generation - before.link.generation),
    ...deliveryFields(delivery, now, delivery.runs - before.delivery.runs),
  };
}

/** A field that is added to the state and not to this record does not compile. */
function linkFields(link: LinkState, now: number, attempts: number): Fields {
  const { kind: _told, ...rest } = link;
  const all: { [K in keyof typeof rest]: string } = {
    generation: `+${attempts}`,
    attempt: String(link.attempt),
    until: time(link.until, now),
    earliest: time(link.earliest, now),
    head: String(link.head),
    openedAt: time(link.openedAt, now),
    lastByteAt: time(link.lastByteAt, now),
    watchdogMs: String(link.watchdogMs),
    paused: String(link.paused),
    reset: link.reset,
    retryMs: String(link.retryMs),
    hiddenAt: link.hiddenAt === null ? "-" : time(link.hiddenAt, now),
    online: String(link.online),
  };
  return all;
}

function deliveryFields(delivery: DeliveryState, now: number, runs: number): Fields {
  const { open, held, leftover, repair } = delivery;
  const all: { [K in keyof DeliveryState]: string } = {
    cursor: cursorOf(delivery.cursor),
    life: String(delivery.life),
    open: open === null
      ? "-"
      : `(${open.epoch === A ? "A" : "B"}, high ${open.high}, spread ${open.spreadMs})`,
    held: `${held.frames} (${held.bytes} bytes)`,
    draining: String(delivery.draining),
    run: runOf(delivery.run, now, delivery.runs),
    next: demandOf(delivery.next, now),
    leftover: leftover === null ? "-" : `until ${time(leftover.until, now)}`,
    runs: `+${runs}`,
    ranAt: time(delivery.ranAt, now),
    repair: repair === null ? "-" : words([
      `(adopt ${cursorOf(repair.adopt)}, until ${time(repair.until, now)}`,
      repair.spoilt && "spoilt",
    ]) + ")",
    wake: delivery.wake ?? "-",
    unverified: String(delivery.unverified),
    restored: String(delivery.restored),
    full: String(delivery.full),
    skipReplay: String(delivery.skipReplay),
  };
  return all;
}

/** Absolute, so that what stays does not look changed; shown from now on. */
function time(instant: number, now: number): string {
  if (instant === 0 || !Number.isFinite(instant)) return instant === 0 ? "0" : "never";
  const ms = instant - now;
  return ms < 0 ? String(ms) : `+${ms}`;
}

function cursorOf(cursor: Cursor | null): string {
  return cursor === null ? "-" : `${cursor.epoch === A ? "A" : "B"}:${cursor.offset}`;
}

function idOf(id: string | null): string {
  if (id === null) return "-";
  return /^[ab]{16}:/.test(id) ? `${id.charAt(0).toUpperCase()}${id.slice(16)}` : id;
}

function runOf(run: Run | null, now: number, newest: number): string {
  if (run === null) return "-";
  const { id, cause, full, topics, adopt, startedAt, until, overtaken } = run;
  return words([
    `(${numbered(id, newest)}${cause}`,
    full && "full",
    topics !== null && `topics ${topics}`,
    adopt !== null && `adopt ${cursorOf(adopt)}`,
    startedAt === null ? "due" : `since ${time(startedAt, now)}, until`,
    time(until, now),
    overtaken && "overtaken",
  ]) + ")";
}

function demandOf(demand: Demand | null, now: number): string {
  if (demand === null) return "-";
  const { cause, full, topics, adopt, notBefore } = demand;
  return words([
    `(${cause}`,
    full && "full",
    topics !== null && `topics ${topics}`,
    adopt !== null && `adopt ${cursorOf(adopt)}`,
    notBefore !== 0 && `not before ${time(notBefore, now)}`,
  ]) + ")";
}

function words(all: readonly (string | false)[]): string {
  return all.filter((one) => one !== false).join(" ");
}

/** Nothing for the newest one, which needs no number. */
function numbered(id: number, newest: number): string {
  return id === newest ? "" : `#${id} `;
}

function effectOf(effect: Effect, before: MachineState, after: MachineState): string {
  switch (effect.type) {
    case "connect":
      return `CONNECT ${numbered(effect.generation, after.link.generation)}(${
        cursorOf(effect.cursor)
      })`;
    case "abort":
      return `ABORT ${numbered(effect.generation, before.link.generation)}`.trimEnd();
    case "deliver": {
      const { frame, cursor } = effect.delivery;
      return `DELIVER ${idOf(frame.id)}${cursor === null ? " (moves nothing)" : ""}`;
    }
    case "revalidate":
      return words([
        `REVALIDATE ${numbered(effect.run, after.delivery.runs)}${effect.cause}`,
        effect.full && "full",
        effect.topics !== null && `topics ${effect.topics}`,
      ]);
    case "abort_run":
      return `ABORT_RUN ${numbered(effect.run, before.delivery.runs)}`.trimEnd();
    case "tell_lag":
      return "LAG";
    case "record":
      return recordOf(effect.record);
  }
}

/** A record by its kind, and what of it the rest of the line does not say. */
function recordOf(record: LifecycleRecord): string {
  switch (record.kind) {
    case "state":
      return `state:${record.to}${record.waitMs === undefined ? "" : `(${record.waitMs})`}`;
    case "hello":
      return `hello(${record.verdict}${record.repair ? ", repair" : ""})`;
    case "connect_failed":
      return `connect_failed(${record.reason}, attempt ${record.attempt})`;
    case "disconnected":
      return `disconnected(${record.reason}, open ${record.openMs})`;
    case "watchdog":
      return `watchdog(${record.sinceLastByteMs})`;
    case "hidden_closed":
      return `hidden_closed(${record.arm})`;
    case "reopened":
      return `reopened(${record.cause})`;
    case "revalidate":
      return `revalidate(spread ${record.spreadMs})`;
    case "held_discarded":
      return `held_discarded(${record.length}, ${record.reason})`;
    case "bad_cursor":
      return `bad_cursor(${record.reason})`;
    case "cursor_dropped":
      return `cursor_dropped(${record.reason})`;
    default:
      return record.kind;
  }
}
