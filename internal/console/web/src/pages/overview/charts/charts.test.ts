import { expect, test } from "vitest";
import type { Schemas } from "../../../api/client";
import { barsOf, figuresOf, noticesOf } from "./points";
import { rangeOf, spanOf } from "./range";

const none = { from: "", to: "" };
const now = new Date("2026-06-02T14:30:00").getTime(); // in the zone of the reader

test("a range is counted back from now; yesterday is a day of the reader", () => {
  expect(spanOf("1h", none, now)).toEqual({
    from: new Date(now - 3_600_000).toISOString(),
    to: new Date(now).toISOString(),
  });
  expect(spanOf("yesterday", none, now)).toEqual({
    from: new Date("2026-06-01T00:00:00").toISOString(),
    to: new Date("2026-06-02T00:00:00").toISOString(),
  });
});

test("one's own range needs both times, the first before the second and before now", () => {
  const own = { from: "2026-06-01T08:00", to: "2026-06-01T20:00" };
  expect(spanOf("own", own, now)?.from).toBe(new Date("2026-06-01T08:00").toISOString());
  expect(spanOf("own", { from: own.to, to: own.from }, now)).toBeUndefined();
  expect(spanOf("own", { from: own.from, to: "" }, now)).toBeUndefined();
  expect(spanOf("own", { from: "2026-06-03T08:00", to: "2026-06-04T08:00" }, now)).toBeUndefined();
});

test("an address that names no range has the first", () => {
  expect(rangeOf("7d")).toBe("7d");
  expect(rangeOf("x")).toBe("24h");
});

const point = (start: string, notices: number, firing?: number) =>
  ({
    start,
    notices,
    urgent: 1,
    samples: 1,
    ...(firing !== undefined && { looked: { firing } }),
  }) as Schemas["HistoryPoint"];

test("notices are drawn by the hour, and by the minute in the last two hours", () => {
  const points = [
    point("2026-06-01T00:40:00Z", 1),
    point("2026-06-01T00:50:00Z", 2),
    point("2026-06-01T01:00:00Z", 4),
  ];
  const start = Date.parse("2026-06-01T00:00:00Z") / 1_000;
  expect(barsOf(points, 600)).toEqual({
    length: 3_600,
    bars: [
      { start, notices: 3, urgent: 2 },
      { start: start + 3_600, notices: 4, urgent: 1 },
    ],
  });
  expect(barsOf(points, 60).bars).toHaveLength(3);
});

test("a point that nobody looked at is a gap", () => {
  expect(
    figuresOf([point("2026-06-01T00:00:00Z", 1, 7), point("2026-06-01T00:10:00Z", 1)], "firing"),
  ).toEqual([7, null]);
});

test("the list behind a bar has its time, and what was chosen", () => {
  expect(noticesOf(0, 3_600, { warehouse: "W 1", type: "" })).toBe(
    "/notices?span=own&from=1970-01-01T00%3A00%3A00.000Z&to=1970-01-01T01%3A00%3A00.000Z&warehouse=W+1",
  );
});
