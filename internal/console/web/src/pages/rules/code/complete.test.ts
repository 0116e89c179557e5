import { expect, test } from "vitest";
import schema from "../../../../../../../configs/rule.schema.json";
import { placeAt } from "./place";
import { offers, type Schema } from "./schema";

const rule = (last: string, ...lines: string[]) =>
  ["  - id: low", "    probe:", "      sql: |", ...lines, last].join("\n");
const labels = (text: string) => {
  const place = placeAt(text);
  return place && offers(schema as unknown as Schema, place.path, place.key).map((offer) => offer.label);
};

test("a place is read from the indentation", () => {
  expect(placeAt("  - id: low\n    no")).toEqual({ path: [], beside: ["id"], word: "no" });
  expect(placeAt("- id: low\n  title: Low\n  sched")).toEqual({
    path: [],
    beside: ["title", "id"],
    word: "sched",
  });
  expect(placeAt("- id: low\n  schedule:\n    cr")).toEqual({ path: ["schedule"], beside: [], word: "cr" });
  expect(placeAt("- id: low\n  deliver:\n    - sink: inbox\n      str")).toEqual({
    path: ["deliver"],
    beside: ["sink"],
    word: "str",
  });
  expect(placeAt("- id: low\n  deliver:\n  - si")).toEqual({ path: ["deliver"], beside: [], word: "si" });
  expect(placeAt("- id: low\n  enabled: tr")).toMatchObject({ path: [], key: "enabled", word: "tr" });
  expect(placeAt("- id: low\n  schedule: {cron: x, ti")).toEqual({
    path: ["schedule"],
    beside: ["cron"],
    word: "ti",
  });
});

test("nothing is offered in texts and comments", () => {
  expect(placeAt(rule("        SELECT bin"))).toBeUndefined();
  expect(placeAt(rule("        SEL", "        -- more"))).toBeUndefined();
  expect(placeAt("- id: low # wh")).toBeUndefined();
});

test("fields and values come from the schema of rule files", () => {
  expect(labels("- id: low\n  ")).toEqual(expect.arrayContaining(["schedule", "keep_firing_for", "notice"]));
  expect(labels("- id: low\n  schedule:\n    ")).toEqual(
    expect.arrayContaining(["cron", "timezone", "catch_up"]),
  );
  expect(labels("- id: low\n  deliver:\n    - ")).toEqual(expect.arrayContaining(["sink", "strategy"]));
  expect(labels("- id: low\n  mode: ")).toEqual(expect.arrayContaining(["state", "event"]));
  expect(labels("- id: low\n  enabled: ")).toEqual(["true", "false"]);
  expect(labels("- id: low\n  nonsense:\n    ")).toEqual([]);
  const [schedule] = offers(schema as unknown as Schema, [], undefined).filter(
    ({ label }) => label === "schedule",
  );
  expect(schedule?.info).not.toBe("");
});
