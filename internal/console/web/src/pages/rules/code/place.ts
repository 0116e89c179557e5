/** The place in a rule where the user writes: the keys around it, and the begun word. */
export interface Place {
  /** The keys around the place, from the outside. Items of lists have none. */
  path: readonly string[];
  /** The key whose value is written; undefined if a key is written. */
  key?: string;
  /** The keys that already stand beside the place. */
  beside: readonly string[];
  /** The part of the word that is written. */
  word: string;
}

interface Line {
  /** The column of the outermost dash; undefined = the line is no item of a list. */
  dash?: number;
  /** The column of the first character that is neither blank nor a dash of an item. */
  col: number;
  key?: string;
  value: string;
}

const empty = /^\s*(#|$)/;

/**
 * Reads the place at the end of the last line, by the indentation of the lines above, because a text that is being
 * written is seldom valid YAML. Undefined inside texts and comments.
 */
export function placeAt(before: string): Place | undefined {
  const lines = before.split("\n");
  const last = lines.pop() ?? "";
  const inline = flow(last);
  if (inline) {
    const around = parents(lines, read(inline.before));
    return around && { ...inline.place, path: [...around.path, ...inline.place.path] };
  }
  const line = read(last);
  if (last.includes(" #") || last.trimStart().startsWith("#")) return undefined;
  const around = parents(lines, line);
  if (!around) return undefined;
  if (line.key !== undefined) {
    if (!/^[\w.-]*$/.test(line.value)) return undefined;
    return { ...around, key: line.key, word: line.value };
  }
  return /^[\w.-]*$/.test(line.value) ? { ...around, word: line.value } : undefined;
}

function read(text: string): Line {
  const lead = /^(\s*(?:-\s+|-$)*)(.*)$/.exec(text);
  const dash = text.indexOf("-");
  const col = lead?.[1]?.length ?? 0;
  const rest = lead?.[2] ?? "";
  const field = /^(?:"([^"]*)"|([\w.-]+))\s*:(?:\s+(.*)|)$/.exec(rest);
  const line: Line = { col, value: field ? (field[3] ?? "").trim() : rest };
  if (dash >= 0 && dash < col) line.dash = dash;
  if (field) line.key = field[1] ?? field[2] ?? "";
  return line;
}

/** Walks up to the keys below which the line stands. */
function parents(lines: readonly string[], from: Line): { path: string[]; beside: string[] } | undefined {
  const path: string[] = [];
  const beside: string[] = [];
  let limit = from.dash === undefined ? from.col : from.dash + 1;
  let siblings = from.dash === undefined;
  for (const text of lines.toReversed()) {
    if (empty.test(text)) continue;
    const line = read(text);
    const { col, dash, key, value } = line;
    if (col < limit && key !== undefined) {
      if (path.length === 0 && /^[|>]/.test(value)) return undefined; // inside of a text
      path.unshift(key);
      siblings = false;
      limit = dash === undefined ? col : dash + 1;
    } else if (siblings && col === limit && key !== undefined) {
      if (/^[|>]/.test(value) && beside.length === 0 && path.length === 0 && from.col > col) return undefined;
      beside.push(key);
      if (dash !== undefined) [limit, siblings] = [dash + 1, false];
    }
  }
  return { path, beside };
}

/** Reads a place inside braces on one line: "schedule: {cron: x, ti". */
function flow(text: string): { before: string; place: Place } | undefined {
  const open = /^(.*?)([\w.-]+):\s*\{([^{}]*)$/.exec(text);
  if (!open) return undefined;
  const [, before = "", parent = "", inside = ""] = open;
  const fields = inside.split(",").map((each) => each.trimStart());
  const word = fields.pop() ?? "";
  const beside = fields.map((each) => /^([\w.-]+):/.exec(each)?.[1] ?? "").filter(Boolean);
  const valued = /^([\w.-]+):\s*([\w.-]*)$/.exec(word);
  const place: Place = valued
    ? { path: [parent], key: valued[1] ?? "", beside, word: valued[2] ?? "" }
    : { path: [parent], beside, word };
  if (!/^[\w.-]*$/.test(place.word)) return undefined;
  return { before: before + parent + ":", place };
}
