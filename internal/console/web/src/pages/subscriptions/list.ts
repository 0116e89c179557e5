import type { Subscription } from "./load";

/** A fault in a line of a pasted list. */
export interface Trouble {
  /** From 1; in JSON the place in the list. 0 = the whole list. */
  line: number;
  what: "json" | "columns" | "type" | "warehouse" | "subscriber" | "many";
  /** The text that was found. */
  found: string;
}

/** A list as it was read. */
export interface Read {
  subscriptions: Subscription[];
  troubles: Trouble[];
}

const names = ["type", "warehouse", "subscriber"] as const;
/** The most subscriptions that the API takes at once. */
export const most = 10_000;

/**
 * Reads a list of subscriptions: JSON as the API gives it, or CSV with or without a line of titles. Commas, semicolons
 * or tabs separate the cells. A subscription that stands there twice is taken once.
 */
export function read(text: string, types: ReadonlySet<string>): Read {
  const trimmed = text.trim();
  const found = /^[[{]/.test(trimmed) ? fromJSON(trimmed) : fromCSV(text);
  const unique = new Map<string, Subscription>();
  for (const { line, row } of found.rows) {
    const what = wrong(row, types);
    if (what) found.troubles.push({ line, what, found: row[what] });
    unique.set([row.type, row.warehouse, row.subscriber].join("\n"), row);
  }
  if (unique.size > most) found.troubles.push({ line: 0, what: "many", found: String(unique.size) });
  return { subscriptions: [...unique.values()], troubles: found.troubles };
}

interface Found {
  rows: { line: number; row: Subscription }[];
  troubles: Trouble[];
}

function wrong(row: Subscription, types: ReadonlySet<string>): (typeof names)[number] | undefined {
  if (!types.has(row.type)) return "type";
  if (row.warehouse === "" || /\s/.test(row.warehouse)) return "warehouse";
  if (!/^(user|role):\S+$/.test(row.subscriber)) return "subscriber";
  return undefined;
}

function fromJSON(text: string): Found {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    return { rows: [], troubles: [{ line: 0, what: "json", found: String((thrown as Error).message) }] };
  }
  const list = Array.isArray(parsed) ? parsed : (parsed as { subscriptions?: unknown }).subscriptions;
  if (!Array.isArray(list)) return { rows: [], troubles: [{ line: 0, what: "json", found: "" }] };
  const rows = list.map((each: unknown, i) => {
    const given = (typeof each === "object" && each !== null ? each : {}) as Record<string, unknown>;
    return { line: i + 1, row: rowOf((name) => given[name]) };
  });
  return { rows, troubles: [] };
}

function fromCSV(text: string): Found {
  const lines = text.split(/\r?\n/);
  const first = lines.findIndex((line) => line.trim() !== "");
  const separator = ["\t", ";", ","].find((each) => lines[first]?.includes(each)) ?? ",";
  const titles = cells(lines[first] ?? "", separator).map((cell) => cell.toLowerCase());
  const titled = names.every((name) => titles.includes(name));
  const order: readonly string[] = titled ? titles : names;
  const found: Found = { rows: [], troubles: [] };
  lines.forEach((line, i) => {
    if (line.trim() === "" || (titled && i === first)) return;
    const values = cells(line, separator);
    if (values.length !== order.length) {
      found.troubles.push({ line: i + 1, what: "columns", found: String(values.length) });
      return;
    }
    found.rows.push({ line: i + 1, row: rowOf((name) => values[order.indexOf(name)]) });
  });
  return found;
}

function rowOf(value: (name: string) => unknown): Subscription {
  const text = (name: string) => {
    const given = value(name);
    return typeof given === "string" || typeof given === "number" ? String(given).trim() : "";
  };
  return { type: text("type"), warehouse: text("warehouse"), subscriber: text("subscriber") };
}

/** Returns the cells of a line. A quoted cell may have the separator in it, and "" for a quote. */
function cells(line: string, separator: string): string[] {
  const found: string[] = [];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < line.length; i++) {
    const c = line.charAt(i);
    if (c === '"') {
      if (quoted && line.charAt(i + 1) === '"') cell += line.charAt(++i);
      else quoted = !quoted;
    } else if (c === separator && !quoted) {
      found.push(cell.trim());
      cell = "";
    } else cell += c;
  }
  return [...found, cell.trim()];
}
