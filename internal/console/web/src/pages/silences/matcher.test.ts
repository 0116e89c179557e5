import { expect, test } from "vitest";
import { parse, write } from "./matcher";

test.each([
  ["rule=negative-bin-stock", "rule", "=", "negative-bin-stock"],
  ["warehouse=~1192.*", "warehouse", "=~", "1192.*"],
  ["area!=inbound", "area", "!=", "inbound"],
  ["labels.kind!~a|b", "labels.kind", "!~", "a|b"],
  ['area=" x "', "area", "=", " x "],
  ['area="~x"', "area", "=", "~x"],
  ["area=", "area", "=", ""],
])("%s is read and written alike", (text, name, op, value) => {
  expect(parse(text)).toEqual({ name, op, value });
  expect(write(parse(text)!)).toBe(text);
});

test.each(["", "rule", "=x", "rule!x"])("%j is no condition", (text) => {
  expect(parse(text)).toBeUndefined();
});
