/**
 * The memory of a process and of all that it started, as the kernel counts it.
 *
 * @module
 */

/**
 * The resident memory of a process and its descendants.
 *
 * @param pid The process.
 * @returns Bytes.
 */
export function residentBytes(pid: number): number {
  let bytes = own(pid);
  for (const child of children(pid)) bytes += residentBytes(child);
  return bytes;
}

function own(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`));
  return line === null ? 0 : Number(line[1]) * 1024;
}

function children(pid: number): number[] {
  const pids: number[] = [];
  try {
    for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
      const listed = read(`/proc/${pid}/task/${name}/children`).trim();
      if (listed !== "") pids.push(...listed.split(" ").map(Number));
    }
  } catch {
    // The process has ended.
  }
  return pids;
}

function read(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** Bytes in mebibytes, for people. */
export function mebibytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
