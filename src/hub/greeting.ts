/**
 * How a stream begins once its cursor is judged: the hello, the application's frames, the histories.
 *
 * @module
 */
import { ConnectionGoneError } from "../errors.ts";
import { helloFrame, snapshotFrame } from "../wire/control.ts";
import { checkEventName, encodeFrame } from "../wire/frame.ts";
import type { Hello } from "../wire/hello.ts";
import { errorForLog } from "../wire/text.ts";
import { WIRE } from "../wire/timing.ts";
import type { Connection } from "./connection.ts";
import { historiesAtConnect } from "./late_joiner.ts";
import type { Roster } from "./roster.ts";
import { topicNames } from "./topics.ts";
import type { ServeOptions, Writer } from "./types.ts";
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
  const hello = helloOf(roster, judgement, connection.identity.id, options.repair !== undefined);
  const names = topicNames(connection.topics);
  const hook = hookOf(options, names, hello, writerOf(roster, connection), connection);
  const logged = hook && (() =>
    hook().catch((error: unknown) => {
      // That its client left while it wrote is no fault of a hook.
      if (!(error instanceof ConnectionGoneError)) {
        settings.logger.error(`A connect hook failed: ${errorForLog(error)}`);
      }
      throw error;
    }));
  const late = options.history === undefined || judgement.verdict === "resumed"
    ? null
    : historiesAtConnect(roster, names, options.history);
  connection.begin({
    judgement,
    hello: helloFrame(hello),
    hook: logged,
    histories: late?.histories ?? [],
  });
  late?.begin(connection);
}

function writerOf({ settings }: Roster, connection: Connection): Writer {
  // Async, so that a refused name or payload is a rejection like any other; the data is read at once.
  const writeEvent = async (name: string, data: string | Uint8Array): Promise<void> => {
    checkEventName(name, settings.keepaliveEvent);
    await connection.write(encodeFrame(null, name, data));
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

function helloOf(
  roster: Roster,
  judgement: Judgement,
  connection: string,
  mayRepair: boolean,
): Hello {
  const { settings } = roster;
  const { verdict } = judgement;
  const { epoch, floor, head } = roster.position();
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

/** What the application writes before live frames: first a repair, then the connect hook's. */
function hookOf(
  options: ServeOptions,
  topics: readonly string[],
  hello: Hello,
  writer: Writer,
  connection: Pick<Connection, "write">,
): (() => Promise<void>) | null {
  const { onConnect, repair } = options;
  if (onConnect === undefined && hello.repair !== true) return null;
  return async () => {
    if (hello.repair === true) {
      await connection.write(snapshotFrame("begin"));
      await repair?.call(options, topics, hello, writer);
      await connection.write(snapshotFrame("end", String(hello.head)));
    }
    await onConnect?.call(options, writer, hello);
  };
}
