import { expect, test } from "vitest";
import type { Type } from "../types/form";
import { byCategory, everybody, isWho, Matrix, moved, own, toggled, within } from "./matrix";

const subscriptions = [
  { type: "A", warehouse: "*", subscriber: "role:keeper" },
  { type: "A", warehouse: "1", subscriber: "role:keeper" },
  { type: "B", warehouse: "*", subscriber: "role:keeper" },
  { type: "B", warehouse: "1", subscriber: "user:ann" },
  { type: "A", warehouse: "2", subscriber: "user:ann" },
];

test("a cell tells what is subscribed here and what comes from all warehouses", () => {
  const one = new Matrix("1", subscriptions);
  expect(one.cell("A", "role:keeper")).toBe("both");
  expect(one.cell("B", "role:keeper")).toBe("inherited");
  expect(one.cell("B", "user:ann")).toBe("here");
  expect(one.cell("A", "user:ann")).toBe("none"); // that is another warehouse
});

test("a cell knows the source of its own subscription alone", () => {
  const ofWMS = { type: "A", warehouse: "*", subscriber: "role:dock", origin: "wms" };
  expect(new Matrix("*", [...subscriptions, ofWMS]).origin("A", "role:dock")).toBe("wms");
  expect(new Matrix("1", [...subscriptions, ofWMS]).origin("A", "role:dock")).toBe(undefined);
  expect(new Matrix("*", [...subscriptions, ofWMS]).origin("A", "role:keeper")).toBe(undefined);
});

test("for all warehouses nothing is inherited", () => {
  const all = new Matrix("*", subscriptions);
  expect(all.cell("A", "role:keeper")).toBe("here");
  expect(all.cell("B", "user:ann")).toBe("none");
});

test.each(["none", "here", "inherited", "both"] as const)("toggling %s twice leads back", (cell) => {
  expect(own(toggled(cell))).toBe(!own(cell));
  expect(toggled(toggled(cell))).toBe(cell);
});

test("everybody who is subscribed or in the address book is a column, roles first", () => {
  const book = [
    { id: "user:bob", name: "Bob Hu" },
    { id: "role:keeper" },
    { id: "user:user10" },
    { id: "user:user9" },
  ];
  const all = everybody(subscriptions, book);
  expect(all.map((who) => who.id)).toEqual([
    "role:keeper",
    "user:ann",
    "user:bob",
    "user:user9",
    "user:user10",
  ]);
  expect(all.map((who) => who.name)).toEqual(["keeper", "ann", "Bob Hu", "user9", "user10"]);
  expect(all.filter((who) => isWho(who, "HU", "")).map((who) => who.id)).toEqual(["user:bob"]);
  expect(all.filter((who) => isWho(who, "", "role"))).toHaveLength(1);
});

test("rows are in the order of category and name", () => {
  const type = (code: string, category: string): Type => ({ code, id: 1, name: code, category });
  const rows = byCategory([type("c", "Z"), type("b", "A"), type("a", "Z")], (each) => each.name);
  expect(rows.map((row) => row.code)).toEqual(["b", "a", "c"]);
});

test.each([
  ["ArrowRight", false, { row: 1, column: 2 }],
  ["ArrowLeft", false, { row: 1, column: 0 }],
  ["ArrowUp", false, { row: 0, column: 1 }],
  ["ArrowDown", false, { row: 2, column: 1 }],
  ["Home", false, { row: 1, column: 0 }],
  ["End", false, { row: 1, column: 2 }],
  ["Home", true, { row: 0, column: 0 }],
  ["End", true, { row: 3, column: 2 }],
  ["PageDown", false, { row: 3, column: 1 }],
  ["PageUp", false, { row: 0, column: 1 }],
  ["a", false, undefined],
])("%s (ctrl: %s) leads to %o", (key, ctrl, to) => {
  expect(moved({ row: 1, column: 1 }, key, ctrl, 4, 3)).toEqual(to);
});

test("a place that is no longer there is the nearest that is", () => {
  expect(within({ row: 9, column: 1 }, 4, 1)).toEqual({ row: 3, column: 0 });
  expect(within({ row: 2, column: 2 }, 0, 0)).toEqual({ row: 0, column: 0 });
});
