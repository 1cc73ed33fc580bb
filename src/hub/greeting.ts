/**
 * How a stream begins once its cursor is judged: the hello, the application's frames, the histories.
 *
 * @module
 */
import { ConnectionGoneError } from "../errors.ts";
import { helloFrame, snapshotFrame } from "../wire/control.ts";
import { checkEventName, encodeFrame } from "../wire/frame.ts";
import type { Hello, Verdict } from "../wire/hello.ts";
import { errorForLog } from "../wire/text.ts";
import { WIRE } from "../wire/timing.ts";
import type { Connection } from "./connection.ts";
import { historiesAtConnect } from "./late_joiner.ts";
import type { HubSettings } from "./options.ts";
import type { Roster } from "./roster.ts";
import { topicNames } from "./topics.ts";
import type { Position, ServeOptions, Writer } from "./types.ts";
import type { Judgement } from "./verdict.ts";

/**
 * Begins a connection, in the turn in which it was judged.
 *
 * @param roster The hub's connections.
 * @param connection The connection, which has not ended meanwhile.
 * @param judgement How its cursor was judged.
 * @param options Its hooks.
 */
export function greet(
  roster: Roster,
  connection: Connection,
  judgement: Judgement,
  options: ServeOptions,
): void {
  const { settings, metrics } = roster;
  metrics.judged(judgement.verdict);
  const hello = helloOf(
    settings,
    judgement.verdict,
    roster.position(),
    connection.identity.id,
    options.repair !== undefined,
  );
  const names = topicNames(connection.topics);
  const hook = hookOf(settings, options, names, hello, (frame) => connection.write(frame));
  const late = options.history === undefined || judgement.verdict === "resumed"
    ? null
    : historiesAtConnect(roster, names, options.history);
  connection.begin({
    judgement,
    hello: helloFrame(hello),
    hook,
    histories: late?.histories ?? [],
  });
  late?.begin(connection);
}

/**
 * What a client is told first.
 *
 * @param settings The hub's settings.
 * @param verdict How its cursor was judged.
 * @param position Where the hub stood then.
 * @param connection The connection's id.
 * @param mayRepair Whether the application can repair what was lost.
 * @returns The hello.
 */
export function helloOf(
  settings: HubSettings,
  verdict: Verdict,
  { epoch, floor, head }: Position,
  connection: string,
  mayRepair: boolean,
): Hello {
  return {
    wire: WIRE,
    epoch,
    floor,
    head,
    resumed: verdict === "resumed",
    verdict,
    keepaliveMs: settings.keepaliveMs,
    keepaliveEvent: settings.keepaliveEvent,
    connection,
    repair: mayRepair && verdict !== "fresh" && verdict !== "resumed",
    revalidateSpreadMs: settings.revalidateSpreadMs,
    ...(settings.versionEpoch !== null && { versionEpoch: settings.versionEpoch }),
  };
}

/**
 * What the application writes before live frames: first a repair, then the connect hook's.
 *
 * @param settings The hub's settings.
 * @param options The application's hooks.
 * @param topics What the connection listens to.
 * @param hello What its client was told.
 * @param write Writes a frame on it; rejects with a {@linkcode ConnectionGoneError} once it has ended.
 * @returns The hook, which logs its failure and rejects; `null` when there is nothing to write.
 */
export function hookOf(
  settings: Pick<HubSettings, "keepaliveEvent" | "logger">,
  options: ServeOptions,
  topics: readonly string[],
  hello: Hello,
  write: (frame: Uint8Array) => Promise<void>,
): (() => Promise<void>) | null {
  const { onConnect, repair } = options;
  if (onConnect === undefined && hello.repair !== true) return null;
  const writer = writerOf(settings, write);
  const run = async (): Promise<void> => {
    if (hello.repair === true) {
      await write(snapshotFrame("begin"));
      await repair?.call(options, topics, hello, writer);
      await write(snapshotFrame("end", String(hello.head)));
    }
    await onConnect?.call(options, writer, hello);
  };
  return () =>
    run().catch((error: unknown) => {
      // That its client left while it wrote is no fault of a hook.
      if (!(error instanceof ConnectionGoneError)) {
        settings.logger.error(`A connect hook failed: ${errorForLog(error)}`);
      }
      throw error;
    });
}

function writerOf(
  { keepaliveEvent }: Pick<HubSettings, "keepaliveEvent">,
  write: (frame: Uint8Array) => Promise<void>,
): Writer {
  // Async, so that a refused name or payload is a rejection like any other; the data is read at once.
  const writeEvent = async (name: string, data: string | Uint8Array): Promise<void> => {
    checkEventName(name, keepaliveEvent);
    await write(encodeFrame(null, name, data));
  };
  return {
    event(name, data) {
      const written = writeEvent(name, data);
      // Whoever awaits it sees the rejection; whoever does not must not end the process by it.
      written.catch(() => {});
      return written;
    },
  };
}
