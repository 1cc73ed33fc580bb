/**
 * The connection's half of the machine: when to connect, when to give up, how long to wait.
 *
 * @module
 */
import { closeDelivery, wakeDelivery } from "./delivery.ts";
import { type LinkState, tell, type Turn } from "./machine.ts";
import type { Disconnect } from "./records.ts";
import type { CommandEvent, HelloReport, LinkReport, MachineConfig, WakeCause } from "./step.ts";
import { backoffStep, MAX_WAIT_MS } from "./timing.ts";
import type { StreamState } from "./types.ts";

/**
 * Takes note of an event. Reports of an attempt that is over are the caller's to drop.
 *
 * @param turn The step.
 * @param event What happened.
 */
export function stepLink(turn: Turn, event: CommandEvent | LinkReport | HelloReport): void {
  const { link, now, config } = turn;
  const stopped = link.kind === "stopped";
  switch (event.type) {
    case "start":
      if (stopped) {
        watchAnew(turn);
        link.attempt = 0;
        connect(turn);
      }
      return;
    case "stop":
      if (!stopped) leave(turn, "stopped", "stop");
      return;
    case "reconnect":
      if (!stopped) anew(turn, "reconnect");
      return;
    case "credentials":
      if (!stopped && link.kind !== "open") anew(turn, "credentials");
      return;
    case "hidden":
      link.hiddenAt ??= now;
      return;
    case "visible":
      link.hiddenAt = null;
      return wake(turn, "visible");
    case "pageshow":
      watchAnew(turn);
      return wake(turn, "pageshow");
    case "pagehide":
      if (isActive(link)) closeHidden(turn, "pagehide");
      return;
    case "offline":
      link.online = false;
      if (isActive(link)) leave(turn, "offline", "offline");
      return;
    case "online":
      link.online = true;
      return wake(turn, "online");
    case "tick":
      return tick(turn);
    case "head":
      link.head = true;
      link.lastByteAt = now;
      link.until = now + config.helloTimeoutMs;
      return;
    case "failed":
      return failed(turn, event);
    case "hello":
      return opened(turn, event);
    case "bytes":
      if (isHiddenTooLong(turn)) closeHidden(turn, "read");
      else link.lastByteAt = now;
      return;
    case "paused":
      link.paused = event.on;
      link.lastByteAt = now;
      return;
    case "reset":
      link.reset = event.reason;
      return tell(turn, { kind: "reset", reason: event.reason });
    case "retry":
      link.retryMs = Math.min(Math.max(event.ms, 1), MAX_WAIT_MS);
      return;
    case "ended":
      return endStream(turn, event.reason, event.detail);
  }
}

/**
 * When the connection wants its next `tick`.
 *
 * @param link Where it stands.
 * @param config The times.
 * @returns The instant; `Infinity` when it waits for nothing.
 */
export function linkDeadline(link: LinkState, config: MachineConfig): number {
  const { kind, hiddenAt } = link;
  let due = Infinity;
  if (kind === "connecting" || kind === "backoff") due = link.until;
  // Silence counts only while somebody looks: a hidden page's network may sleep.
  if (kind === "open" && hiddenAt === null && !link.paused) {
    due = link.lastByteAt + link.watchdogMs;
  }
  return Math.min(due, hiddenLimit(link, config));
}

function hiddenLimit(link: LinkState, { hiddenCloseAfterMs }: MachineConfig): number {
  if (link.hiddenAt === null || hiddenCloseAfterMs === 0 || !isActive(link)) return Infinity;
  return link.hiddenAt + hiddenCloseAfterMs;
}

function isHiddenTooLong({ link, config, now }: Turn): boolean {
  return now >= hiddenLimit(link, config);
}

/** Has a connection, or is about to have one of its own accord. */
function isActive({ kind }: LinkState): boolean {
  return kind === "backoff" || isConnected(kind);
}

function isConnected(kind: StreamState): boolean {
  return kind === "connecting" || kind === "open";
}

/** What the application or a page's return starts has the whole hidden time before it. */
function watchAnew({ link, now }: Turn): void {
  if (link.hiddenAt !== null) link.hiddenAt = now;
}

function move(turn: Turn, to: StreamState, waitMs?: number): void {
  const { kind: from, generation } = turn.link;
  turn.link.kind = to;
  if (from === to && to === "offline") return;
  const wait = waitMs === undefined ? {} : { waitMs };
  tell(turn, { kind: "state", from, to, generation, ...wait });
}

function connect(turn: Turn): void {
  const { link, delivery, now, config } = turn;
  if (!link.online) return move(turn, "offline");
  link.generation++;
  link.until = now + config.connectTimeoutMs;
  link.head = false;
  link.lastByteAt = now;
  link.paused = false;
  link.reset = "";
  move(turn, "connecting");
  const { generation, attempt } = link;
  const cursor = delivery.skipReplay ? null : delivery.cursor;
  turn.effects.push({ type: "connect", generation, attempt, cursor });
}

/** Explicitly asked for: it tries even where the platform sees no network. */
function anew(turn: Turn, reason: string): void {
  const { link } = turn;
  close(turn, reason);
  watchAnew(turn);
  link.attempt = 0;
  const { online } = link;
  link.online = true;
  connect(turn);
  link.online = online;
}

/** Drops the connection, if there is one, whatever state comes next. */
function close(turn: Turn, reason: string): void {
  const { kind, generation, openedAt } = turn.link;
  if (!isConnected(kind)) return;
  // However it ends, a stable stream leaves no failure behind.
  if (kind === "open" && turn.now - openedAt >= turn.config.stableMs) turn.link.attempt = 0;
  turn.effects.push({ type: "abort", generation });
  closeDelivery(turn, reason);
}

function leave(turn: Turn, to: StreamState, reason: string): void {
  close(turn, reason);
  move(turn, to);
}

function closeHidden(turn: Turn, arm: "timer" | "read" | "pagehide"): void {
  leave(turn, "hidden_closed", "hidden");
  tell(turn, { kind: "hidden_closed", arm });
}

function wake(turn: Turn, cause: WakeCause): void {
  const { link, now } = turn;
  switch (link.kind) {
    case "stopped":
      return;
    case "exhausted":
      link.attempt = 0;
      connect(turn);
      break;
    case "offline":
      // A page that came back, or became visible, is not a network.
      if (cause === "online") connect(turn);
      break;
    case "hidden_closed":
      // A network that returned is nobody who looks.
      if (cause !== "online") {
        link.attempt = 0;
        connect(turn);
        if (link.online) tell(turn, { kind: "reopened", cause });
      }
      break;
    case "backoff":
      if (now >= link.earliest) connect(turn);
      else link.until = Math.min(link.until, link.earliest);
      break;
    case "open":
      tick(turn);
  }
  wakeDelivery(turn, cause);
}

function tick(turn: Turn): void {
  const { link, now, config } = turn;
  if (isHiddenTooLong(turn)) return closeHidden(turn, "timer");
  if (now < linkDeadline(link, config)) return;
  if (link.kind === "backoff") connect(turn);
  else if (link.kind === "connecting") {
    const reason = link.head ? "hello_timeout" : "connect_timeout";
    const ms = link.head ? config.helloTimeoutMs : config.connectTimeoutMs;
    const detail = `nothing in ${ms} ms`;
    failed(turn, { reason, status: null, detail, retryAfterMs: 0, final: false });
  } else {
    const sinceLastByteMs = now - link.lastByteAt;
    tell(turn, { kind: "watchdog", sinceLastByteMs });
    endStream(turn, "silent", `silent for ${sinceLastByteMs} ms`);
  }
}

function opened(turn: Turn, { hello, generation }: HelloReport): void {
  const { link, now, config } = turn;
  const { verdict, resumed, wire, epoch, keepaliveMs } = hello;
  link.openedAt = link.lastByteAt = now;
  const beatMs = Math.min(keepaliveMs, MAX_WAIT_MS);
  link.watchdogMs = Math.max(config.watchdogBeats * beatMs, config.watchdogFloorMs);
  move(turn, "open");
  const [floor, head] = [String(hello.floor), String(hello.head)];
  const repair = hello.repair === true;
  const told = { verdict, resumed, repair, wire, epoch, floor, head, keepaliveMs, generation };
  tell(turn, { kind: "hello", ...told });
}

type Failure = Omit<Extract<LinkReport, { type: "failed" }>, "type" | "generation">;

function failed(turn: Turn, { reason, status, detail, retryAfterMs, final }: Failure): void {
  const { link } = turn;
  const { generation } = link;
  close(turn, reason);
  const attempt = link.attempt + 1;
  tell(turn, { kind: "connect_failed", reason, status, detail, attempt, generation });
  if (final) move(turn, "stopped");
  else backOff(turn, Math.min(retryAfterMs, MAX_WAIT_MS), 1);
}

/**
 * An open stream ended.
 *
 * @param turn The step.
 * @param reason Why.
 * @param detail What the platform said.
 */
export function endStream(turn: Turn, reason: Disconnect, detail: string): void {
  const { link, now, config } = turn;
  const { generation, openedAt, reset, retryMs } = link;
  const openMs = now - openedAt;
  close(turn, reason);
  tell(turn, { kind: "disconnected", reason, openMs, detail, generation });
  const stable = openMs >= config.stableMs;
  const success = stable && (reason === "ended" || reason === "silent");
  if (success && reset !== "shutdown") connect(turn);
  else backOff(turn, retryMs, success ? 0 : 1);
}

/** Full jitter: between nothing and twice as much after each failure, up to the cap. */
function backOff(turn: Turn, leastMs: number, failures: 0 | 1): void {
  const { link, now, rand, config } = turn;
  const step = backoffStep(config, link.attempt);
  link.attempt += failures;
  if (config.maxAttempts > 0 && link.attempt >= config.maxAttempts) return move(turn, "exhausted");
  if (!link.online) return move(turn, "offline");
  const waitMs = Math.max(Math.round(rand * step), leastMs);
  link.until = now + waitMs;
  link.earliest = now + leastMs;
  move(turn, "backoff", waitMs);
}
