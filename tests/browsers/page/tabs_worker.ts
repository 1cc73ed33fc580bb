/**
 * The script of the profile's SharedWorker. Its query sets the times.
 *
 * @module
 */
import { createWorkerHost } from "../../../src/client/worker.ts";

const query = new URLSearchParams(location.search);
createWorkerHost({ timing: { heartbeatMs: Number(query.get("beat")) } });
