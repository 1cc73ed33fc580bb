/**
 * Starting the processes of the load benchmarks.
 *
 * @module
 */
import { type Child, startChild } from "../lib/child.ts";
import { programFor } from "../lib/programs.ts";
import type { Contender } from "./contenders.ts";

/**
 * Starts a contender.
 *
 * @param contender Which.
 * @param options `gc`: whether it can be told to collect its garbage.
 * @returns The process, listening.
 */
export async function startServer(
  { runtime, program }: Contender,
  options: { readonly gc?: boolean } = {},
): Promise<Child> {
  const { command, args } = await programFor(runtime, program, options);
  return startChild(command, args);
}

/**
 * Starts the client.
 *
 * @returns The process.
 */
export async function startClient(): Promise<Child> {
  const { command, args } = await programFor("node", "bench/load/client.ts");
  return startChild(command, args);
}
