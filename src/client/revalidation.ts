/**
 * One revalidation's life: wanted, due, running, settled. Never two at once.
 *
 * @module
 */
import { type Demand, mergeDemands } from "./demand.ts";
import { type DeliveryState, type Draft, type Run, tell, type Turn } from "./machine.ts";
import type { WorkReport } from "./step.ts";

/**
 * Whether frames wait: for a run, for one that cannot start yet, or for those before them.
 *
 * @param delivery Where the delivery stands.
 * @returns Whether they do.
 */
export function isHolding({ run, next, draining }: DeliveryState): boolean {
  return run !== null || next !== null || draining;
}

/**
 * Notes that the cursor has passed, or will pass, something that only a later revalidation covers.
 *
 * @param delivery Where the delivery stands.
 */
export function latch(delivery: Draft<DeliveryState>): void {
  const { run, repair } = delivery;
  delivery.unverified = true;
  if (repair !== null) delivery.repair = { ...repair, spoilt: true };
  if (run !== null && run.startedAt !== null) delivery.run = { ...run, overtaken: true };
}

/**
 * Wants a revalidation: now, or after the one that runs.
 *
 * @param turn The step.
 * @param wish What is wanted; by default nothing more than its cause.
 */
export function demand(turn: Turn, wish: Pick<Demand, "cause"> & Partial<Demand>): void {
  const { delivery } = turn;
  const whole = { full: false, topics: null, adopt: null, notBefore: 0, ...wish };
  delivery.next = mergeDemands(delivery.next, whole);
  startRun(turn);
}

/**
 * Makes the wish a run, unless there is one, or what it held is still going out.
 *
 * @param turn The step.
 */
export function startRun(turn: Turn): void {
  const { delivery, now, blank } = turn;
  const { next, run, leftover, draining } = delivery;
  if (next === null || run !== null || leftover !== null || draining) return;
  const { cause, topics, adopt, notBefore } = next;
  const due: Run = {
    id: ++delivery.runs,
    cause,
    full: next.full || blank,
    topics,
    adopt,
    wantedAt: now,
    startedAt: null,
    until: notBefore,
    overtaken: false,
  };
  delivery.run = due;
  delivery.next = delivery.wake = null;
  if (now >= notBefore) beginRun(turn, due);
}

function beginRun(turn: Turn, due: Run): void {
  const { delivery, now, config } = turn;
  const { id: run, cause, topics, wantedAt } = due;
  const full = due.full || (topics === null && delivery.full);
  delivery.run = { ...due, full, startedAt: now, until: now + config.revalidateTimeoutMs };
  if (topics === null) {
    delivery.ranAt = now;
    delivery.full = false;
  }
  tell(turn, { kind: "revalidate", cause, full, spreadMs: now - wantedAt });
  turn.effects.push({ type: "revalidate", run, cause, full, topics });
}

/**
 * Starts what is due, and gives up what takes too long.
 *
 * @param turn The step.
 */
export function tickRun(turn: Turn): void {
  const { delivery, now } = turn;
  const { run, leftover } = delivery;
  if (leftover !== null && now >= leftover.until) {
    delivery.leftover = null;
    startRun(turn);
  }
  if (run === null || now < run.until) return;
  if (run.startedAt === null) return beginRun(turn, run);
  tell(turn, { kind: "revalidate_timeout", cause: run.cause });
  turn.giveUp = "revalidate_timeout";
}

/**
 * Takes note of a run's end, good or bad.
 *
 * @param turn The step.
 * @param run The run that ended.
 * @param event How.
 */
export function endRun(
  turn: Turn,
  { cause, full, overtaken, startedAt, topics }: Run,
  { ok, error }: Extract<WorkReport, { type: "settled" }>,
): void {
  const { delivery, now } = turn;
  delivery.run = null;
  // A run of one topic settles nothing of what is owed for all of them.
  const whole = topics === null;
  if (whole) delivery.restored = false;
  delivery.unverified = !ok || overtaken || (!whole && delivery.unverified);
  if (ok) {
    if (whole) delivery.skipReplay = false;
    tell(turn, { kind: "revalidated", cause, tookMs: now - (startedAt ?? now) });
  } else {
    delivery.full ||= full;
    tell(turn, { kind: "revalidate_failed", cause, error });
  }
}

/**
 * The connection is over, and its revalidations with it. Whatever they were to cover is still owed.
 *
 * @param turn The step.
 */
export function dropRuns(turn: Turn): void {
  const { delivery, now, config } = turn;
  const { run, next } = delivery;
  if (run !== null && run.startedAt !== null) {
    turn.effects.push({ type: "abort_run", run: run.id });
    delivery.leftover = { id: run.id, until: now + config.revalidateTimeoutMs };
  }
  delivery.unverified ||= run !== null || next !== null;
  delivery.full ||= run?.full === true || next?.full === true;
  delivery.run = delivery.next = null;
}
