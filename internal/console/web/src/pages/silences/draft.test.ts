import { expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { blank, draftOf, fieldsOf, local, restOf } from "./draft";

const now = Date.parse("2026-06-01T08:00:00Z");
const silence = {
  id: "s_1",
  matchers: ["rule=bins", "warehouse=~1192.*"],
  from: "2026-06-01T07:00:00Z",
  until: "2026-06-01T10:00:00Z",
  comment: "stocktake",
} as Schemas["Silence"];

test("a blank draft asks for two hours from now", () => {
  expect(fieldsOf(blank(["rule=bins", "nonsense"]))).toEqual({ matchers: ["rule=bins"], for: "2h" });
});

test("a condition that nobody filled in is left out", () => {
  const draft = blank(["rule=bins"]);
  draft.matchers.push({ name: "", op: "=", value: "" });
  expect(fieldsOf(draft).matchers).toEqual(["rule=bins"]);
});

test("a draft of a silence says the same for the rest of its time", () => {
  expect(fieldsOf(draftOf(silence, now))).toEqual({
    matchers: silence.matchers,
    until: "2026-06-01T10:00:00.000Z",
    comment: "stocktake",
  });
});

test("a draft of one that is over has its conditions and a new time", () => {
  const over = Date.parse("2026-06-02T00:00:00Z");
  expect(fieldsOf(draftOf(silence, over))).toEqual({
    matchers: silence.matchers,
    for: "2h",
    comment: "stocktake",
  });
});

test("a window keeps its zone and needs no end", () => {
  const window = { cron: "0 22 * * 6", duration: "8h", timezone: "Asia/Shanghai" };
  const { until: _, ...endless } = silence;
  expect(fieldsOf(draftOf({ ...endless, window }, now))).toEqual({
    matchers: silence.matchers,
    window,
    comment: "stocktake",
  });
});

test("what was expired comes back with the rest of its time, at its own time if it had not begun", () => {
  expect(restOf(silence, now)).toEqual({
    matchers: silence.matchers,
    until: silence.until,
    comment: "stocktake",
  });
  expect(restOf({ ...silence, from: "2026-06-01T09:00:00Z" }, now).from).toBe("2026-06-01T09:00:00Z");
});

test("moments are written as inputs take them", () => {
  expect(new Date(local("2026-06-01T10:00:00Z")).getTime()).toBe(Date.parse("2026-06-01T10:00:00Z"));
});
