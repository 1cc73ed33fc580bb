/**
 * The program of `client_process.ts`: streams of the client, each moved by the commands that come on
 * stdin, and all that happens to them on stdout. It runs on Deno, Bun and Node alike, and ends with
 * its standard input.
 *
 * @module
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { Actor } from "./client_actor.ts";
import type { Command, Done, Happening } from "./client_protocol.ts";

const actors = new Map<string, Actor>();

/** Errors are no JSON; of them the suite wants to read the message. */
function plain(_key: string, value: unknown): unknown {
  return value instanceof Error ? String(value) : value;
}

function tell(stream: string, happening: Happening): void {
  const line = { ...happening, stream, at: performance.now() };
  process.stdout.write(`${JSON.stringify(line, plain)}\n`);
}

const NOWHERE: Pick<Done, "state" | "cursor" | "versions" | "shown"> = {
  state: "stopped",
  cursor: "",
  versions: null,
  shown: {},
};

async function obey(command: Command): Promise<void> {
  const { stream, number } = command;
  let error: string | null = null;
  try {
    const actor = actors.get(stream);
    if (command.do === "create" && actor === undefined) {
      actors.set(stream, new Actor(command.description, (happening) => tell(stream, happening)));
    } else if (actor === undefined) throw new Error("There is no such stream");
    else await actor.obey(command);
  } catch (reason) {
    error = String(reason);
  }
  const where = actors.get(stream)?.look() ?? NOWHERE;
  tell(stream, { told: "done", number, error, ...where });
}

const lines = createInterface({ input: process.stdin });
// One after another to its first pause: a command that waits for a server holds up no other.
lines.on("line", (line) => void obey(JSON.parse(line) as Command));
lines.on("close", () => process.exit(0));
process.stdout.write("READY\n");
