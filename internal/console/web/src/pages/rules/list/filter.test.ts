import { expect, test } from "vitest";
import type { Rule, Scope } from "../model";
import { choices, countByHealth, matcher, narrows, parse, type Entry } from "./filter";

function entry(rule: Partial<Rule>, scope: Partial<Scope> = {}): Entry {
  return {
    rule: {
      id: "low-stock",
      file: "stock.yaml",
      source: "wms",
      mode: "state",
      type: "REP",
      scopes: [],
      ...rule,
    },
    scope: {
      scope: "",
      cron: "* * * * *",
      timezone: "UTC",
      enabled: true,
      fileEnabled: true,
      health: "ok",
      verified: true,
      pending: 0,
      firing: 0,
      ...scope,
    },
  };
}

const entries = [
  entry(
    { id: "negative-bin-stock", title: "Negative bin stock", owner: "inventory" },
    { scope: "119240", firing: 2 },
  ),
  entry(
    { id: "wave-stuck", labels: { severity: "high" }, type: "WAVE", source: "pilot" },
    { scope: "9", health: "failing" },
  ),
  entry(
    { id: "lot-expiry" },
    { shadow: true, switch: { rule: "lot-expiry", scope: "*", state: "disabled", by: "ann", at: "" } },
  ),
];
const found = (address: string) =>
  entries.filter(matcher(parse(new URLSearchParams(address)))).map((each) => each.rule.id);

test("an address without a query leaves nothing out", () => {
  expect(narrows(parse(new URLSearchParams("")))).toBe(false);
  expect(found("")).toHaveLength(3);
});

test.each([
  ["q=STOCK negative", ["negative-bin-stock"]],
  ["q=inventory", ["negative-bin-stock"]],
  ["q=severity%3Dhigh", ["wave-stuck"]],
  ["q=WAVE stock", []],
  ["q=119240", ["negative-bin-stock"]],
  ["health=failing", ["wave-stuck"]],
  ["source=pilot", ["wave-stuck"]],
  ["scope=119240", ["negative-bin-stock"]],
  ["shadow=1", ["lot-expiry"]],
  ["switched=1", ["lot-expiry"]],
  ["findings=1", ["negative-bin-stock"]],
  ["findings=1&health=failing", []],
])("%s", (address, ids) => {
  expect(found(address)).toEqual(ids);
});

test("counts and choices are of what is there", () => {
  expect(countByHealth(entries)).toEqual(
    new Map([
      ["ok", 2],
      ["failing", 1],
    ]),
  );
  expect(choices(entries, (each) => each.scope.scope)).toEqual(["9", "119240"]);
});
