import { expect, test } from "vitest";
import { fromOf, names, parameters, type Filter } from "./filter";

const now = Date.parse("2026-06-01T08:30:00Z");
const none = Object.fromEntries(names.map((name) => [name, ""])) as Filter;

test("nothing is asked for where nothing is chosen", () => {
  expect(parameters(none, now)).toEqual({});
});

test("each filter is asked for in its form", () => {
  const filter = {
    ...none,
    warehouse: "119240",
    type: "REP",
    rule: "bins",
    key: "A-01",
    status: "firing",
    priority: "4",
  };
  expect(parameters(filter, now)).toEqual({
    warehouse: ["119240"],
    type: ["REP"],
    rule: "bins",
    key: "A-01",
    status: ["firing"],
    priority: 4,
  });
});

test.each([
  ["1h", "2026-06-01T07:30:00.000Z"],
  ["24h", "2026-05-31T08:30:00.000Z"],
  ["7d", "2026-05-25T08:30:00.000Z"],
  ["", ""],
])("the span %j begins at %j", (span, from) => {
  expect(fromOf(span, now)).toBe(from);
});

test("today begins at the reader's midnight", () => {
  const from = new Date(fromOf("today", now));
  expect([from.getHours(), from.getMinutes(), now - from.getTime() < 24 * 3_600_000]).toEqual([0, 0, true]);
});

test("a time of one's own counts only where it is chosen, and may have one end", () => {
  const own = { ...none, span: "own", from: "2026-06-01T06:00:00Z", to: "" };
  expect(parameters(own, now)).toEqual({ from: "2026-06-01T06:00:00.000Z" });
  expect(parameters({ ...own, span: "" }, now)).toEqual({});
  expect(parameters({ ...own, from: "soon" }, now)).toEqual({});
});
