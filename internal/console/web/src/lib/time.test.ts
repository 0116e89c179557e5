import { expect, test } from "vitest";
import { fullTime, relativeTime } from "./time";

const now = Date.parse("2026-06-01T12:00:00Z");

test("how long ago, in the largest unit that has passed", () => {
  const ago = (seconds: number) => relativeTime(now - seconds * 1000, now, "en-GB");
  expect([0, 12, 59, 60, 3599, 3600, 86_399, 3 * 86_400].map(ago)).toEqual([
    "now",
    "12 sec ago",
    "59 sec ago",
    "1 min ago",
    "59 min ago",
    "1 hr ago",
    "23 hr ago",
    "3 days ago",
  ]);
  expect(relativeTime(now + 120_000, now, "en-GB")).toBe("in 2 min");
  expect(relativeTime(now - 120_000, now, "zh-CN")).toBe("2分钟前");
});

test("a moment in full has its date and its seconds", () => {
  expect(fullTime(now, "en-GB")).toMatch(/ Jun 2026, \d\d:\d\d:00/);
});
