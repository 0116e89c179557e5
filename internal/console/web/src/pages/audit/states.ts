import { diffJson } from "diff";

/** Consecutive lines of the states before and after a change. */
export interface Lines {
  kind: "same" | "removed" | "added";
  lines: string[];
  /** How many lines are left out after `lines`, because nothing has changed around them. The lines of `tail` follow. */
  left: number;
  tail: string[];
}

/** How many unchanged lines are shown around a change. */
const around = 3;

/** Compares two states as JSON with sorted members. A missing state has no lines. */
export function compare(before: unknown, after: unknown): Lines[] {
  const parts = diffJson((before ?? "") as object, (after ?? "") as object);
  return parts.map((part, i) => {
    const lines = part.value.replace(/\n$/, "").split("\n");
    if (part.removed) return { kind: "removed", lines, left: 0, tail: [] };
    if (part.added) return { kind: "added", lines, left: 0, tail: [] };
    return shortened(lines, i === 0 ? 0 : around, i === parts.length - 1 ? 0 : around);
  });
}

function shortened(lines: string[], head: number, tail: number): Lines {
  const left = lines.length - head - tail;
  if (left < 2 || head + tail === 0) return { kind: "same", lines, left: 0, tail: [] };
  return { kind: "same", lines: lines.slice(0, head), left, tail: lines.slice(lines.length - tail) };
}

/** Returns the size in bytes of a state that was too large to be kept; undefined for another state. */
export function omitted(state: unknown): number | undefined {
  if (typeof state !== "object" || state === null || !("omittedBytes" in state)) return undefined;
  return Number(state.omittedBytes);
}
