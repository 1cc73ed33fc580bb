import { journalCases } from "../../../src/journal/conformance.ts";
import { test } from "../../support/test.ts";
import { openPath } from "./sqlite_driver.ts";
import { sqliteSubject } from "./sqlite_subject.ts";

if (openPath !== undefined) {
  for (const { name, run } of journalCases(sqliteSubject(openPath))) {
    test(`SQLite journal: ${name}`, run);
  }
}
