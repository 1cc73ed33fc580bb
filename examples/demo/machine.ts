/**
 * Measures the machine this runs on. Nothing here is made up: what cannot be measured is not shown.
 *
 * @module
 */
import os from "node:os";

/** How busy the processors were since the last question. */
export interface CpuReading {
  /** Busy time in percent of all processors' time, 0 to 100. */
  readonly value: number;
  /** The load averages over 1, 5 and 15 minutes; zeros where the system has none (Windows). */
  readonly load: readonly number[];
  /** How many processors there are. */
  readonly cores: number;
}

/** How much memory is in use. */
export interface MemoryReading {
  /** Bytes in use: all of it less what is available to programs. */
  readonly value: number;
  /** Bytes in all. */
  readonly total: number;
}

/** How late this process's timers were since the last question. */
export interface DelayReading {
  /** The worst lateness in milliseconds. */
  readonly value: number;
}

/**
 * Makes a meter of processor time.
 *
 * @returns A function; each call reports on the time since the call before.
 */
export function cpuMeter(): () => CpuReading {
  let before = cpuTimes();
  return () => {
    const now = cpuTimes();
    const total = now.total - before.total;
    const value = total > 0 ? 100 * (now.busy - before.busy) / total : 0;
    before = now;
    return {
      value: round(value, 1),
      load: Deno.loadavg().map((x) => round(x, 2)),
      cores: now.cores,
    };
  };
}

function cpuTimes(): { busy: number; total: number; cores: number } {
  let busy = 0;
  let idle = 0;
  const cpus = os.cpus();
  for (const { times } of cpus) {
    busy += times.user + times.nice + times.sys + times.irq;
    idle += times.idle;
  }
  return { busy, total: busy + idle, cores: cpus.length };
}

/** Reads the machine's memory. */
export function readMemory(): MemoryReading {
  const { total, available } = Deno.systemMemoryInfo();
  return { value: total - available, total };
}

const PROBE_MS = 20;

/**
 * Watches how late a timer of 20 ms comes: what every request of this process had to wait.
 *
 * @returns `read` reports the worst since the last question, `stop` ends the watch.
 */
export function delayMeter(): { read: () => DelayReading; stop: () => void } {
  let worst = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - PROBE_MS);
    last = now;
  }, PROBE_MS);
  return {
    read() {
      const value = round(worst, 2);
      worst = 0;
      return { value };
    },
    stop: () => clearInterval(timer),
  };
}

function round(value: number, digits: number): number {
  const scale = 10 ** digits;
  return Math.round(value * scale) / scale;
}
