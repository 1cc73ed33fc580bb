/**
 * Writes the golden table anew: `npm run golden`. Read the difference before it is committed.
 *
 * @module
 */
import { writeFileSync } from "node:fs";
import { GOLDEN } from "./file.ts";
import { writeTable } from "./table.ts";

writeFileSync(GOLDEN, writeTable());
