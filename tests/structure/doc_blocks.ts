/**
 * Finds the examples of the documentation: blocks of TypeScript in doc comments and in Markdown.
 *
 * @module
 */

/** What is done with an example. */
export type BlockMode = "run" | "no-run" | "ignore";

/** One example. */
export interface Block {
  /** The file it stands in, from the project's folder. */
  readonly file: string;
  /** The line of its fence, from 1. */
  readonly line: number;
  /**
   * `run`: checked and run. `no-run`: checked only, for it needs another runtime or never ends.
   * `ignore`: neither, for it is a part of something.
   */
  readonly mode: BlockMode;
  /** Its code. */
  readonly code: string;
}

const FENCE = /^(?<indent>\s*)```(?<info>.*)$/;
const MODES: readonly BlockMode[] = ["no-run", "ignore"];

/**
 * Finds the examples of one file.
 *
 * @param file The file's path; the extension says how it is read.
 * @param text Its text.
 * @returns The examples, in order.
 * @throws {Error} On a word after the fence that means nothing, so that a slip of the pen does not
 * take an example out of the tests, and on a fence that is not closed.
 */
export function findBlocks(file: string, text: string): readonly Block[] {
  const lines = file.endsWith(".md") ? text.split("\n") : docLines(text);
  const blocks: Block[] = [];
  let open: { line: number; indent: string; info: string; code: string[] } | undefined;
  lines.forEach((line, index) => {
    const fence = FENCE.exec(line ?? "")?.groups;
    if (open === undefined) {
      if (fence === undefined) return;
      const { indent = "", info = "" } = fence;
      open = { line: index + 1, indent, info: info.trim(), code: [] };
    } else if (fence?.["info"] === "") {
      const mode = modeOf(`${file}:${open.line}`, open.info);
      if (mode !== undefined) {
        blocks.push({ file, line: open.line, mode, code: open.code.join("\n") });
      }
      open = undefined;
    } else {
      open.code.push((line ?? "").replace(open.indent, ""));
    }
  });
  if (open !== undefined) throw new Error(`${file}:${open.line}: the block is not closed`);
  return blocks;
}

/** The lines of doc comments without their stars; `undefined` for every other line. */
function docLines(text: string): readonly (string | undefined)[] {
  let inside = false;
  return text.split("\n").map((line) => {
    if (/^\s*\/\*\*/.test(line)) inside = true;
    if (!inside) return undefined;
    if (line.includes("*/")) inside = false;
    return line.replace(/^\s*\/?\*+\/? ?/, "");
  });
}

/** `undefined` for a block in another language. */
function modeOf(where: string, info: string): BlockMode | undefined {
  const [language, ...words] = info.split(/\s+/);
  if (language !== "ts" && language !== "typescript") return undefined;
  if (words.length === 0) return "run";
  const mode = MODES.find((each) => each === words[0]);
  if (mode === undefined || words.length > 1) {
    throw new Error(
      `${where}: after the language stands "${words.join(" ")}", which means nothing`,
    );
  }
  return mode;
}
