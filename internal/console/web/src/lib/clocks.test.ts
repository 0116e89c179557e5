import { expect, test } from "vitest";
import { machineAt, nowFor, rulesAt, shownMachine } from "./clocks";

const minute = 60_000;
const site = { rules: 10_000, machine: 7_000, browser: 5_000, rate: 1 };
const demo = { rules: 1_000 * minute, machine: 10 * minute, browser: 9 * minute, rate: 60 };

test("each clock goes on at its own rate", () => {
  expect(rulesAt(site, 6_000)).toBe(11_000);
  expect(machineAt(site, 6_000)).toBe(8_000);
  expect(rulesAt(demo, 10 * minute)).toBe(1_060 * minute);
  expect(machineAt(demo, 10 * minute)).toBe(11 * minute);
});

test("where rules have a faster clock, times of the machine are shown by it", () => {
  expect(shownMachine(site, 6_500)).toBe(6_500);
  expect(shownMachine(demo, 10 * minute)).toBe(1_000 * minute);
  const soon = machineAt(demo, 9 * minute) + 18_000; // in 18 s of the machine
  expect(shownMachine(demo, soon) - rulesAt(demo, 9 * minute)).toBe(18 * minute);
});

test("a fast clock tells a moment that has just passed as now, and a moment to come as to come", () => {
  expect(nowFor(1_000 * minute + 59_000, 1_000 * minute, 60)).toBe(1_000 * minute + 59_000);
  expect(nowFor(1_004 * minute, 1_000 * minute, 60)).toBe(1_000 * minute);
  expect(nowFor(999 * minute, 1_000 * minute, 60)).toBe(1_000 * minute);
});
