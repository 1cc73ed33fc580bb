/** The profile's one stream: every tab of this page is fed by it. Its address comes from the tabs. */
import { createWorkerHost } from "/lib/worker.js";

createWorkerHost({ alive: { url: "/alive" } });
