/**
 * Finding the process of a browser that reads its sockets: which one it is differs between browsers.
 *
 * @module
 */

/** A connection that is established, as the kernel lists it. */
const ESTABLISHED = "01";

/**
 * Finds the processes that hold a connection to a port of 127.0.0.1.
 *
 * @param port The port at the other end.
 * @returns Their process ids, this process's own left out.
 */
export async function holdersOf(port: number): Promise<readonly number[]> {
  const inodes = new Set<string>();
  for (const line of (await Deno.readTextFile("/proc/net/tcp")).split("\n").slice(1)) {
    const [, , remote = "", state, , , , , , inode = ""] = line.trim().split(/\s+/);
    if (state === ESTABLISHED && parseInt(remote.split(":")[1] ?? "", 16) === port) {
      inodes.add(`socket:[${inode}]`);
    }
  }
  const holders: number[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    const pid = Number(name);
    if (Number.isInteger(pid) && pid !== Deno.pid && holds(pid, inodes)) holders.push(pid);
  }
  return holders;
}

function holds(pid: number, links: ReadonlySet<string>): boolean {
  try {
    for (const { name } of Deno.readDirSync(`/proc/${pid}/fd`)) {
      if (links.has(linkOf(`/proc/${pid}/fd/${name}`))) return true;
    }
  } catch {
    // It has ended, or is another user's.
  }
  return false;
}

function linkOf(path: string): string {
  try {
    return Deno.readLinkSync(path);
  } catch {
    // It was closed meanwhile.
    return "";
  }
}
