import { expect, test } from "vitest";
import { compare, fold } from "./lines";

test("lines have the numbers of both texts", () => {
  expect(compare("a\nb\nc", "a\nx\ny\nc\n")).toEqual([
    { kind: "same", text: "a", old: 1, now: 1 },
    { kind: "removed", text: "b", old: 2 },
    { kind: "added", text: "x", now: 2 },
    { kind: "added", text: "y", now: 3 },
    { kind: "same", text: "c", old: 3, now: 4 },
  ]);
});

test("empty lines and the end of the text are no change", () => {
  expect(compare("a\n\nb\n", "a\n\nb").every((line) => line.kind === "same")).toBe(true);
  expect(compare("", "a")).toEqual([{ kind: "added", text: "a", now: 1 }]);
});

test("what is far from a change is left out, and counted", () => {
  const before = Array.from({ length: 20 }, (_, i) => `line ${i}`);
  const after = before.with(10, "changed");
  const blocks = fold(compare(before.join("\n"), after.join("\n")));
  expect(blocks.map((block) => (block.kind === "shown" ? block.lines.length : -block.count))).toEqual([
    -7, 8, -6,
  ]);
});
