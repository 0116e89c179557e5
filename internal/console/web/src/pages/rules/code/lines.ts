import { diffLines } from "diff";

/** A line of a comparison: of both texts, of the old one alone, or of the new one alone. */
export interface Line {
  kind: "same" | "removed" | "added";
  text: string;
  /** Its number in the old text, from 1. */
  old?: number;
  /** Its number in the new text. */
  now?: number;
}

/** Consecutive lines that are shown, or that are left out because nothing near them has changed. */
export type Block = { kind: "shown"; lines: Line[] } | { kind: "left out"; count: number };

/** How many unchanged lines are shown around a change. */
const around = 3;

/** Returns the lines of both texts in order. */
export function compare(before: string, after: string): Line[] {
  let old = 0;
  let now = 0;
  return diffLines(ended(before), ended(after)).flatMap((part) =>
    part.value
      .replace(/\n$/, "")
      .split("\n")
      .map((text): Line => {
        if (part.added) return { kind: "added", text, now: ++now };
        if (part.removed) return { kind: "removed", text, old: ++old };
        return { kind: "same", text, old: ++old, now: ++now };
      }),
  );
}

/** Leaves out the lines that are far from every change. */
export function fold(lines: readonly Line[]): Block[] {
  const near = lines.map((_, i) =>
    lines.slice(Math.max(0, i - around), i + around + 1).some((line) => line.kind !== "same"),
  );
  const blocks: Block[] = [];
  lines.forEach((line, i) => {
    const last = blocks.at(-1);
    if (near[i]) {
      if (last?.kind === "shown") last.lines.push(line);
      else blocks.push({ kind: "shown", lines: [line] });
    } else if (last?.kind === "left out") last.count++;
    else blocks.push({ kind: "left out", count: 1 });
  });
  return blocks;
}

/** Ends the last line of a text, so that the ends of two texts compare alike. */
const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
