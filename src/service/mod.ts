/**
 * A service around a hub: streams by ticket or by cookie, topics that are added later, digests,
 * publishing with a key, presence, metrics and health, in one Hono app for every runtime. Needs `hono`.
 *
 * @module
 */
export type { Access } from "../cluster/handlers/access.ts";
export { type CorsOptions, type ServiceOptions } from "./options.ts";
export { createService, type Service } from "./service.ts";
