/** How a condition compares. */
export const operators = ["=", "!=", "=~", "!~"] as const;
export type Operator = (typeof operators)[number];

/** One condition of a silence. */
export interface Matcher {
  name: string;
  op: Operator;
  value: string;
}

/** The names in conditions that are not names of labels. */
export const names = ["rule", "type", "warehouse", "scope", "key"] as const;

/** Reads a condition as the API writes it; undefined if the text is no condition. */
export function parse(text: string): Matcher | undefined {
  const at = text.search(/[=!]/);
  if (at < 1) return undefined;
  const rest = text.slice(at);
  const op = (["=~", "!~", "!=", "="] as const).find((each) => rest.startsWith(each));
  if (!op) return undefined;
  return { name: text.slice(0, at).trim(), op, value: unquote(rest.slice(op.length).trim()) };
}

/** Writes a condition so that the API reads the same condition. */
export function write({ name, op, value }: Matcher): string {
  const trimmed = name.trim();
  const plain = value === value.trim() && !value.startsWith('"') && !(op === "=" && value.startsWith("~"));
  return trimmed + op + (plain ? value : JSON.stringify(value));
}

function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
