// @ts-check
/** The client's records, newest first: one line each, of the last few hundred. */
import { count, make, timeOf } from "./view.js";

const MAX_RECORDS = 300;
/** What somebody who looks for trouble looks for. */
const TROUBLE =
  /failed|timeout|disconnected|reset|watchdog|lag|rejected|bad|discarded|dead|unavailable|lost|expired/;

export class Records {
  /**
   * @param {HTMLElement} list
   * @param {HTMLElement} total
   */
  constructor(list, total) {
    this.list = list;
    this.total = total;
    this.count = 0;
  }

  /** @param {Record<string, unknown>} record */
  add(record) {
    this.count++;
    this.list.prepend(row(record));
    while (this.list.childElementCount > MAX_RECORDS) this.list.lastElementChild?.remove();
    const all = `${count(this.count)} since this page was opened`;
    this.total.textContent = this.count > MAX_RECORDS
      ? `${all}, the last ${MAX_RECORDS} are shown`
      : all;
  }
}

/** @param {Record<string, unknown>} record */
function row({ kind, ...rest }) {
  const line = document.createElement("tr");
  if (TROUBLE.test(String(kind))) line.dataset["trouble"] = "";
  const time = document.createElement("td");
  time.append(timeOf(new Date()));
  const name = document.createElement("td");
  name.append(make("span", String(kind), "chip"));
  const says = make("td", "", "mono");
  for (const [field, value] of Object.entries(rest)) {
    // The detail of an end is often empty.
    if (value === "" || value === undefined) continue;
    const plain = typeof value !== "object" || value instanceof Error;
    const text = plain ? String(value) : JSON.stringify(value);
    const pair = make("span", "", "field");
    pair.append(make("i", field), ` ${text}`);
    says.append(pair, " ");
  }
  line.append(time, name, says);
  return line;
}
