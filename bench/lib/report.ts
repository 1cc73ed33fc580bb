/**
 * How results are printed: tables of text, one line per target, the machine they come from.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import os from "node:os";
import process from "node:process";
import { judge, type Target } from "./stats.ts";

/** One question's results. */
export interface Report {
  /** The question, as a heading. */
  readonly title: string;
  /** The names of the columns. */
  readonly columns: readonly string[];
  /** The rows; the first cell is a name, the others are numbers or words. */
  readonly rows: readonly (readonly string[])[];
  /** What was promised about these numbers. */
  readonly targets: readonly Target[];
  /** What a reader of the table must know. */
  readonly notes: readonly string[];
}

/** Where the numbers come from. */
export interface Machine {
  /** When the run began, as an ISO date. */
  readonly date: string;
  /** The processor, as the system calls it. */
  readonly processor: string;
  /** How many of them. */
  readonly cores: number;
  /** The operating system and its release. */
  readonly system: string;
  /** The load average of the last minute when the run began: above 0.5, the machine was not quiet. */
  readonly load: number;
  /** The versions of what was measured. */
  readonly versions: Readonly<Record<string, string>>;
}

const PACKAGES = [
  "deno",
  "bun",
  "hono",
  "@hono/node-server",
  "better-sse",
  "ioredis",
  "better-sqlite3",
];

/**
 * Describes this machine and what is installed.
 *
 * @returns The description.
 */
export function machine(): Machine {
  const versions: Record<string, string> = { node: process.versions.node };
  for (const name of PACKAGES) {
    const path = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
    const parsed: unknown = JSON.parse(readFileSync(path, "utf8"));
    versions[name] = String((parsed as { version?: unknown }).version);
  }
  return {
    date: new Date().toISOString().slice(0, 16),
    processor: os.cpus()[0]?.model.trim() ?? "unknown",
    cores: os.cpus().length,
    system: `${os.type()} ${os.release()}`,
    load: os.loadavg()[0] ?? 0,
    versions,
  };
}

/**
 * Writes the machine as lines.
 *
 * @param of The machine.
 * @returns The text.
 */
export function machineText(of: Machine): string {
  const versions = Object.entries(of.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${of.date}Z, ${of.cores} × ${of.processor}, ${of.system}, load ${of.load.toFixed(2)}`,
    versions.join(", "),
  ].join("\n");
}

/**
 * Writes a report as text which is also a Markdown table.
 *
 * @param report The report.
 * @returns The text.
 */
export function reportText(report: Report): string {
  const lines = [`## ${report.title}`, "", ...table(report.columns, report.rows)];
  if (report.targets.length > 0) lines.push("", ...report.targets.map(targetText));
  if (report.notes.length > 0) lines.push("", ...report.notes.map((note) => `- ${note}`));
  return lines.join("\n");
}

function targetText(target: Target): string {
  const value = target.value === null ? "–" : format(target.value);
  return `- ${judge(target)}: ${target.what}: ${value} (${target.side} ${target.bound})`;
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = columns.map((name, i) =>
    Math.max(name.length, ...rows.map((row) => (row[i] ?? "").length))
  );
  const line = (cells: readonly string[]): string =>
    `| ${
      widths.map((width, i) => {
        const cell = cells[i] ?? "";
        return i === 0 ? cell.padEnd(width) : cell.padStart(width);
      }).join(" | ")
    } |`;
  const rule = widths.map((width, i) => i === 0 ? "-".repeat(width) : "-".repeat(width - 1) + ":");
  return [line(columns), line(rule), ...rows.map(line)];
}

/**
 * Writes a number with three digits that count.
 *
 * @param value The number.
 * @returns Its text.
 */
export function format(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100) return whole(value);
  return value.toFixed(size >= 10 ? 1 : 2);
}

/**
 * Writes a number without its fraction, in groups of three digits.
 *
 * @param value The number.
 * @returns Its text.
 */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
