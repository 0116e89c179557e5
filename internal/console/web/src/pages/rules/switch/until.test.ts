import { expect, test } from "vitest";
import type { Switch } from "../model";
import { again, askOf } from "./until";

const now = new Date(2026, 10, 30, 22, 15);
const earlier: Switch = { rule: "a", scope: "*", state: "disabled", by: "ann", at: "", reason: "stocktake" };

test("a switch holds as long as was answered", () => {
  expect(askOf({ reason: "", until: "" }, now)).toEqual({});
  expect(askOf({ reason: "stocktake", until: "4h" }, now)).toEqual({ reason: "stocktake", for: "4h" });
  const own = "2026-12-24T18:00:00.000Z";
  expect(askOf({ reason: "", until: own }, now)).toEqual({ until: own });
  const morning = new Date(2026, 11, 1, 8).toISOString(); // the month ends in between
  expect(askOf({ reason: "", until: "tomorrow" }, now)).toEqual({ until: morning });
});

test("an earlier switch comes back as it was, but not where it would be over", () => {
  expect(again(earlier, now)).toEqual({ reason: "stocktake" });
  const until = new Date(now.getTime() + 1_000).toISOString();
  expect(again({ ...earlier, until }, now)).toEqual({ reason: "stocktake", until });
  expect(again({ ...earlier, until: now.toISOString() }, now)).toBeUndefined();
});
