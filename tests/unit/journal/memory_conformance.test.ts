import { journalCases } from "../../../src/journal/conformance.ts";
import { test } from "../../support/test.ts";
import { memorySubject } from "./memory_subject.ts";

for (const { name, run } of journalCases(memorySubject)) test(`in memory: ${name}`, run);
