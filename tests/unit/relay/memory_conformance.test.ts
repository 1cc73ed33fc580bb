import { relayCases } from "../../../src/relay/conformance.ts";
import { test } from "../../support/test.ts";
import { channelSubject, memorySubject, worldSubject } from "./memory_subject.ts";

for (const { name, run } of relayCases(memorySubject)) test(`in memory: ${name}`, run);

for (const { name, run } of relayCases(channelSubject)) test(`over a channel: ${name}`, run);

for (const { name, run } of relayCases(worldSubject)) test(`in the relays of tests: ${name}`, run);
