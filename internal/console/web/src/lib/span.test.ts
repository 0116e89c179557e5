import { expect, test } from "vitest";
import { span } from "./span";

test.each([
  ["72h", 259_200_000],
  ["1d12h", 129_600_000],
  ["90s", 90_000],
  ["5m", 300_000],
  ["", undefined],
  ["3", undefined],
  ["3w", undefined],
  ["h3", undefined],
])("%j lasts %s ms", (text, milliseconds) => {
  expect(span(text)).toBe(milliseconds);
});
