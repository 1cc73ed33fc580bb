/**
 * A strict reader of OpenMetrics text (version 1.0.0), line by line as its grammar says: it throws
 * at the first thing that a scraper could refuse.
 *
 * @module
 */

/** One sample. */
export interface Sample {
  /** The sample's name, its suffix included. */
  readonly name: string;
  /** Its labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** Its value. */
  readonly value: number;
}

/** One metric family. */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const SAMPLE = new RegExp(`^(${NAME})(?:\\{([^}]*)\\})? (\\S+)$`);
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"$/;
const NUMBER = /^(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|\+Inf|NaN)$/;
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  gauge: [""],
  counter: ["_total", "_created"],
  histogram: ["_bucket", "_count", "_sum", "_created"],
};

/**
 * Reads a whole exposition.
 *
 * @param text The text.
 * @returns Its families, by name.
 * @throws {Error} At the first line that breaks a rule.
 */
export function readOpenMetrics(text: string): Map<string, Family> {
  if (!text.endsWith("\n# EOF\n")) throw new Error("it does not end with # EOF and a line end");
  const families = new Map<string, Family & { samples: Sample[] }>();
  let current: (Family & { samples: Sample[] }) | undefined;
  for (const line of text.slice(0, -"# EOF\n".length).split("\n").slice(0, -1)) {
    const refuse = (why: string): never => {
      throw new Error(`${why}: ${line}`);
    };
    const [, keyword, name = "", rest = ""] = /^# (TYPE|HELP|UNIT) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === "TYPE") {
      if (!new RegExp(`^${NAME}$`).test(name)) refuse("a bad name");
      if (families.has(name)) refuse("a family twice, or interleaved with another");
      if (!(rest in SUFFIXES)) refuse("an unknown type");
      if (rest === "counter" && name.endsWith("_total")) refuse("a counter's family named _total");
      current = { name, type: rest, help: "", samples: [] };
      families.set(name, current);
    } else if (keyword !== undefined) {
      if (current?.name !== name || current.samples.length > 0) refuse("metadata out of place");
      if (keyword === "HELP" && current !== undefined) {
        current = { ...current, help: rest };
        families.set(name, current);
      }
    } else {
      const family = current ?? refuse("a sample before its type");
      family.samples.push(readSample(line, family, refuse));
    }
  }
  for (const family of families.values()) checkFamily(family);
  return families;
}

function readSample(line: string, family: Family, refuse: (why: string) => never): Sample {
  const [, name = "", inside, number = ""] = SAMPLE.exec(line) ?? refuse("not a sample");
  if (!NUMBER.test(number)) refuse("not a number");
  if (!SUFFIXES[family.type]?.some((suffix) => name === family.name + suffix)) {
    refuse(`not of the family ${family.name}`);
  }
  const labels: Record<string, string> = {};
  for (const pair of inside === undefined ? [] : inside.split(",")) {
    const [, label = "", value = ""] = LABEL.exec(pair) ?? refuse("a bad label");
    if (label in labels) refuse("a label twice");
    labels[label] = value;
  }
  const value = number === "+Inf" ? Infinity : Number(number);
  return { name, labels, value };
}

function checkFamily({ name, type, help, samples }: Family): void {
  const refuse = (why: string): never => {
    throw new Error(`${name}: ${why}`);
  };
  if (help === "") refuse("no help");
  if (samples.length === 0) refuse("no samples");
  const keys = samples.map((sample) => `${sample.name} ${JSON.stringify(sample.labels)}`);
  if (new Set(keys).size !== keys.length) refuse("a sample twice");
  if (type !== "gauge" && samples.some(({ value }) => !(value >= 0))) refuse("a negative count");
  if (type !== "histogram") return;
  const buckets = samples.filter((sample) => sample.name.endsWith("_bucket"));
  const bounds = buckets.map(({ labels }) => labels.le === "+Inf" ? Infinity : Number(labels.le));
  if (bounds[bounds.length - 1] !== Infinity) refuse("no bucket +Inf at the end");
  if (bounds.some((bound, i) => i > 0 && !(bound > (bounds[i - 1] ?? NaN)))) refuse("unordered");
  if (buckets.some(({ value }, i) => i > 0 && value < (buckets[i - 1]?.value ?? 0))) {
    refuse("buckets are not cumulative");
  }
  for (const { labels } of buckets) {
    const { le = "" } = labels;
    // "Canonical numbers": whole ones are written with .0, so that labels match exactly.
    if (le !== "+Inf" && !/^[0-9]+\.[0-9]+$/.test(le)) refuse(`le="${le}" is not canonical`);
  }
  const count = samples.find((sample) => sample.name.endsWith("_count"))?.value;
  if (count !== buckets[buckets.length - 1]?.value) refuse("the count is not the last bucket's");
  if (!samples.some((sample) => sample.name.endsWith("_sum"))) refuse("no sum");
}
