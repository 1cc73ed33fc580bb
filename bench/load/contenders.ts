/**
 * Who is measured.
 *
 * @module
 */
import type { Runtime } from "../lib/programs.ts";

/** The name of a contender. */
export type ContenderName =
  | "raw-node"
  | "ours-node"
  | "ours-node-web"
  | "ours-deno"
  | "ours-bun"
  | "better-sse"
  | "better-sse-text"
  | "stream-sse"
  | "floor-node"
  | "floor-deno"
  | "floor-bun";

/** One server. */
export interface Contender {
  /** Its name in tables and in `--only`. */
  readonly name: ContenderName;
  /** What it is, in words. */
  readonly what: string;
  /** What runs it. */
  readonly runtime: Runtime;
  /** Its program. */
  readonly program: string;
  /** Whether it is measured only when `--only` names it. */
  readonly extra?: true;
}

const servers = "bench/load/servers";

/** Every contender, in the order in which they are printed. */
export const CONTENDERS: readonly Contender[] = [
  {
    name: "raw-node",
    what: "Node, raw node:http res.write",
    runtime: "node",
    program: `${servers}/raw.ts`,
  },
  {
    name: "ours-node",
    what: "Node, tidemark, Node adapter",
    runtime: "node",
    program: `${servers}/ours-node.ts`,
  },
  {
    name: "ours-node-web",
    what: "Node, tidemark through @hono/node-server",
    runtime: "node",
    program: `${servers}/ours-node-web.ts`,
  },
  {
    name: "ours-deno",
    what: "Deno, tidemark, Deno adapter",
    runtime: "deno",
    program: `${servers}/ours-deno.ts`,
  },
  {
    name: "ours-bun",
    what: "Bun, tidemark, Bun adapter",
    runtime: "bun",
    program: `${servers}/ours-bun.ts`,
  },
  {
    name: "better-sse",
    what: "Node, better-sse channel",
    runtime: "node",
    program: `${servers}/better-sse.ts`,
  },
  {
    name: "stream-sse",
    what: "Node, hono streamSSE through @hono/node-server",
    runtime: "node",
    program: `${servers}/stream-sse.ts`,
  },
  {
    name: "better-sse-text",
    what: "Node, better-sse channel, no serializer",
    runtime: "node",
    program: `${servers}/better-sse-text.ts`,
    extra: true,
  },
  {
    name: "floor-node",
    what: "Node, bare pull stream through @hono/node-server",
    runtime: "node",
    program: `${servers}/floor.ts`,
    extra: true,
  },
  {
    name: "floor-deno",
    what: "Deno, bare pull stream",
    runtime: "deno",
    program: `${servers}/floor.ts`,
    extra: true,
  },
  {
    name: "floor-bun",
    what: "Bun, bare pull stream",
    runtime: "bun",
    program: `${servers}/floor.ts`,
    extra: true,
  },
];
