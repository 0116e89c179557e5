import { Text } from "@codemirror/state";
import { expect, test } from "vitest";
import { range } from "./editor";

const doc = Text.of(["- id: low-stock", "  max_row: 3", ""]);
const at = (line: number, col: number) => {
  const { from, to } = range(doc, { code: "", message: "", file: "", line, col });
  return doc.sliceString(from, to);
};

test("a problem is marked from its place to the end of the word", () => {
  expect(at(1, 7)).toBe("low-stock");
  expect(at(2, 3)).toBe("max_row");
  expect(at(2, 10)).toBe(":");
});

test("a place outside of the text is put inside", () => {
  expect(at(9, 1)).toBe("");
  expect(at(1, 99)).toBe("");
  expect(at(0, 0)).toBe("-");
});
