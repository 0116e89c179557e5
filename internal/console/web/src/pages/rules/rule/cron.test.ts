import { expect, test } from "vitest";
import { spoken } from "./cron";

test.each([
  ["*/5 * * * *", { every: { unit: "minute", count: 5 } }],
  ["* * * * *", { every: { unit: "minute", count: 1 } }],
  [
    "*/5 5-22 * * 1-6",
    {
      every: { unit: "minute", count: 5 },
      hours: { from: "05:00", to: "22:59" },
      days: "Monday – Saturday",
    },
  ],
  ["0 */2 * * *", { every: { unit: "hour", count: 2 } }],
  ["@every 30s", { every: { unit: "second", count: 30 } }],
  ["@hourly", { every: { unit: "past", minutes: "0" } }],
  ["0 6,18 * * *", { every: { unit: "at", times: "06:00, 18:00" } }],
  ["30 8 * * mon,fri", { every: { unit: "at", times: "08:30" }, days: "Monday and Friday" }],
  ["0 0 1,15 * *", { every: { unit: "at", times: "00:00" }, monthDays: "1 and 15" }],
  ["0 30 8 * * *", { every: { unit: "at", times: "08:30" } }],
])("%s", (cron, said) => {
  expect(spoken("en", cron)).toEqual(said);
});

test.each([
  "1-10/3 * * * *",
  "0 0 1 1 *",
  "0 0 1 * 1",
  "15 * * * * *",
  "0 0 L * *",
  "nonsense",
  "@every 1h30m",
])("only cron can say %s", (cron) => {
  expect(spoken("en", cron)).toBeUndefined();
});
