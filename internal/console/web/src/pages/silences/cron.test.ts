import { expect, test } from "vitest";
import { spoken } from "./cron";

test.each([
  ["0 22 * * *", { kind: "day", time: "22:00" }],
  ["0 30 6 * * *", { kind: "day", time: "06:30" }],
  ["@daily", { kind: "day", time: "00:00" }],
  ["0 22 * * 6", { kind: "week", time: "22:00", days: "Saturday" }],
  ["5 8 * * MON-WED", { kind: "week", time: "08:05", days: "Monday, Tuesday and Wednesday" }],
  ["0 0 * * 7", { kind: "week", time: "00:00", days: "Sunday" }],
  ["0 1 1,15 * *", { kind: "month", time: "01:00", days: "1 and 15" }],
  ["15 * * * *", { kind: "hour", minute: "15" }],
])("%s is said", (cron, want) => {
  expect(spoken("en", cron)).toEqual(want);
});

test.each(["", "0 22", "*/5 * * * *", "61 * * * *", "0 22 * 3 *", "0 22 1 * 6", "0 22 * * 6-1", "@every 2h"])(
  "%j is too odd for words",
  (cron) => {
    expect(spoken("en", cron)).toBeUndefined();
  },
);

test("Chinese has its own days", () => {
  expect(spoken("zh", "0 22 * * 1,6")).toEqual({ kind: "week", time: "22:00", days: "星期一和星期六" });
});
