import { expect, test } from "vitest";
import { moved, pointTime, tickTime } from "./model";

test("keys move the cursor and stop at the ends", () => {
  expect(moved("ArrowLeft", 5, 24)).toBe(4);
  expect(moved("ArrowLeft", 0, 24)).toBe(0);
  expect(moved("ArrowRight", 23, 24)).toBe(23);
  expect(moved("PageUp", 5, 100)).toBe(15);
  expect(moved("PageDown", 5, 100)).toBe(0);
  expect(moved("Home", 5, 24)).toBe(0);
  expect(moved("End", 5, 24)).toBe(23);
  expect(moved("x", 5, 24)).toBeUndefined();
});

const at = (text: string) => new Date(text).getTime() / 1_000; // in the zone of the reader

test("a point says from when until when it is, with the day", () => {
  const said = pointTime("en", at("2026-06-01T14:00:00"), 3_600);
  expect(said).toContain("1 Jun");
  expect(said).toContain("14:00");
  expect(said).toContain("15:00");
});

test("the axis names the day at midnight, and where ticks are days apart", () => {
  expect(tickTime("en", at("2026-06-01T14:00:00"), 3_600)).toBe("14:00");
  expect(tickTime("en", at("2026-06-02T00:00:00"), 3_600)).toBe("2 Jun");
  expect(tickTime("en", at("2026-06-01T14:00:00"), 86_400)).toBe("1 Jun");
});
