/**
 * Joining a hub to its siblings on other pods, by a relay.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import type { Hub } from "../hub/types.ts";
import type { Relay } from "../relay/relay.ts";
import { Member } from "./relay/member.ts";
import { readJoinOptions } from "./relay/options.ts";
import type { JoinOptions, JournaledHub, RelayMembership } from "./types.ts";

export { relayOpenMetrics } from "./relay/metrics.ts";

/**
 * Joins a hub to its siblings: what is published here is delivered to the clients here first, and sent
 * to the other pods then, which deliver it to theirs. Of a hub over a journal only ephemeral events go
 * this way, for the journal carries the others.
 *
 * A relay may lose messages in silence, so each pod counts what it sends, and says at intervals how far
 * it has counted. When something is missing, after every interruption, and when a pod goes silent
 * without a goodbye, {@linkcode Hub.gap} tells the clients: a moment later, when the siblings have
 * answered, so that what was lost together is told once. A hub over a journal misses nothing by a loss,
 * and tells nobody.
 *
 * Two things nobody can know of: what a pod publishes and takes with it that the others already took for
 * dead, for want of three beats; and what is lost within the second in which a pod that has just joined
 * meets its siblings.
 *
 * Pods are told apart by a random number for each start. Two pods that live at the same time under one
 * `origin` still hear each other; an error is logged, for each start of one looks like a crash of the
 * other.
 *
 * What is published before {@linkcode RelayMembership.ready} is sent already. An event that the relay
 * cannot carry is refused by `publish` before anybody has it.
 *
 * @param hub The hub. Its siblings are hubs of the same kind.
 * @param relay The relay. It stays open when the pod leaves.
 * @param options The pod's name, and its intervals.
 * @returns The pod's membership. Await its `ready` before the port is opened.
 * @throws {ConfigError} When an option is out of bounds, or the relay is none.
 * @throws {TypeError} When the hub has joined a relay already.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { createHub, joinRelay } from "@tidemark/sse";
 * import { createMemoryRelay } from "@tidemark/sse/relay/memory";
 *
 * const relay = createMemoryRelay();
 * const [one, other] = [createHub(), createHub()];
 * const memberships = [joinRelay(one, relay), joinRelay(other, relay)];
 * for (const { ready } of memberships) await ready;
 *
 * one.publish({ topic: "chat:7", data: "hello" });
 * while (other.position().head === 0) await Promise.resolve();
 * assertEquals(other.position().head, 1);
 *
 * for (const membership of memberships) await membership.leave();
 * await relay.close();
 * ```
 */
export function joinRelay(
  hub: Hub | JournaledHub,
  relay: Relay,
  options: JoinOptions = {},
): RelayMembership {
  if (typeof relay?.listen !== "function") {
    throw new ConfigError("relay", "it is no relay: what opens one may have to be awaited");
  }
  return new Member(hub, relay, readJoinOptions(options));
}
