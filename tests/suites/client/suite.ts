/**
 * The suite of the client: one function of a server, and of the clients to try against it.
 *
 * @module
 */
import type { ClientRuntime, Runtime } from "../../support/runtimes.ts";
import { alive } from "./alive.ts";
import { capacity, dearCapacity, SMALL } from "./capacity.ts";
import { connect } from "./connect.ts";
import { digest } from "./digest.ts";
import { faults } from "./faults.ts";
import { dearGaps, gaps, TIGHT } from "./gaps.ts";
import { type Group, pairs } from "./play.ts";
import { dearResume, resume } from "./resume.ts";
import { revisionOne } from "./revision_one.ts";
import { wakes } from "./wakes.ts";

/** A ring that holds all that a client may miss, and replies that carry it. */
const ROOMY = { keepaliveMs: 200, replayEvents: 4096, replyMax: 4096 } as const;

const groups: readonly Group[] = [
  {
    idea: "roomy",
    flags: ROOMY,
    scenarios: { ...connect, ...resume, ...faults, ...wakes, ...digest, ...alive, ...revisionOne },
    dear: dearResume,
  },
  { idea: "tight", flags: TIGHT, scenarios: gaps, dear: dearGaps },
  { idea: "small", flags: SMALL, scenarios: capacity, dear: dearCapacity },
];

const few: readonly Group[] = [
  { idea: "roomy", flags: ROOMY, scenarios: { ...connect, ...resume } },
];

/**
 * Registers every scenario.
 *
 * @param server Where the fixture runs.
 * @param clients The clients.
 */
export function clientConformance(server: Runtime, clients: readonly ClientRuntime[]): void {
  pairs(server, clients, groups);
}

/**
 * Registers the scenarios of connecting and resuming alone, for servers that differ little from one
 * that has them all.
 *
 * @param server Where the fixture runs.
 * @param clients The clients.
 */
export function clientBasics(server: Runtime, clients: readonly ClientRuntime[]): void {
  pairs(server, clients, few);
}
