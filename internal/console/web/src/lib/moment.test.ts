import { expect, test } from "vitest";
import { absolute, brief, duration, relative } from "./moment";

test.each([
  [0, "now"],
  [-999, "now"],
  [-12_000, "12 sec ago"],
  [-59_999, "59 sec ago"],
  [-90_000, "1 min ago"],
  [-3_599_000, "59 min ago"],
  [-86_399_000, "23 hr ago"],
  [2 * 3_600_000 + 1, "in 2 hr"],
  [-50 * 3_600_000, "2 days ago"],
])("%i ms from now is %s", (away, text) => {
  expect(relative("en", 1_000_000_000 + away, 1_000_000_000)).toBe(text);
});

test.each([
  [0, "0 ms"],
  [340.4, "340 ms"],
  [1_540, "1.5 secs"],
  [61_000, "1 min 1 sec"],
  [3_600_000, "1 hr"],
  [90_061_000, "1 day 1 hr"],
  [59_999.6, "1 min"],
])("%d ms last %s", (milliseconds, text) => {
  expect(duration("en", milliseconds)).toBe(text);
});

test("Chinese has its own words", () => {
  expect(relative("zh", 0, 120_000)).toBe("2分钟前");
  expect(duration("zh", 3_700_000)).toBe("1小时 1分钟");
});

test("a moment in full has its date and its seconds", () => {
  expect(absolute("en", Date.parse("2026-06-01T12:00:00Z"))).toMatch(/ Jun 2026, \d\d:\d\d:00/);
});

test("a moment of another timezone names the zone", () => {
  const noon = Date.parse("2026-06-01T12:00:00Z");
  expect(absolute("en", noon, "Asia/Shanghai")).toBe("1 Jun 2026, 20:00:00 Asia/Shanghai");
  expect(absolute("zh", noon, "Asia/Shanghai")).toBe("2026年6月1日 20:00:00 Asia/Shanghai");
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  expect(absolute("en", noon, own)).toBe(absolute("en", noon)); // the reader's own needs no name
});

test("a brief moment has its date where that is another day", () => {
  const noon = new Date(2026, 5, 1, 12, 0, 0).getTime();
  expect(brief("en", noon, noon + 60_000)).toBe("12:00:00");
  expect(brief("en", noon, noon + 86_400_000)).toBe("1 Jun, 12:00");
  expect(brief("zh", noon, noon + 86_400_000)).toBe("6月1日 12:00");
});
