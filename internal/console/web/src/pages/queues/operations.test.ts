import { expect, test } from "vitest";
import type { Operation } from "../../api/session.svelte";
import type { Item, ItemState } from "./model";
import { allowed, allowedOfAny, isSpan, opOf, tally, undoOf, type Terms } from "./operations";

const item = (state: ItemState, more: Partial<Item> = {}): Item => ({
  id: "i_1",
  state,
  priority: 3,
  payload: 1,
  attempt: 7,
  failures: 0,
  suspends: 0,
  createdAt: "2026-06-01T00:00:00Z",
  ...more,
});
const terms: Terms = { worker: " anna ", days: 3, span: "10m", note: "", priority: 0, order: "" };
const operator = () => true;
const worker = (operation: Operation) =>
  [
    "step",
    "ack-item",
    "nack-item",
    "release-item",
    "extend-item",
    "suspend-item",
    "store-item",
    "assign-item",
  ].some((each) => each === operation);

test("what may be done follows from the state", () => {
  expect(allowed(item("ready"), operator)).toEqual(["assign", "suspend", "store", "set", "finish", "remove"]);
  expect(allowed(item("stored"), operator)).toContain("wake");
  expect(allowed(item("dead"), operator)).toEqual(["requeue", "set", "remove"]);
  for (const state of ["done", "removed", "refused"] as const)
    expect(allowed(item(state), operator)).toEqual([]);
});

test("who is no operator touches what is leased, and removes nothing", () => {
  expect(allowed(item("ready"), worker)).toEqual([]);
  expect(allowed(item("leased"), worker)).toEqual([
    "assign",
    "suspend",
    "store",
    "extend",
    "release",
    "fail",
    "finish",
  ]);
  expect(allowed(item("leased"), () => false)).toEqual([]);
  expect(allowedOfAny([item("dead"), item("ready")], operator)).toEqual([
    "assign",
    "requeue",
    "suspend",
    "store",
    "set",
    "finish",
    "remove",
  ]);
});

test("a set names what changes, and is taken back to what the item had", () => {
  expect(allowed(item("leased"), operator)).not.toContain("set");
  const of = (more: Partial<Terms>) => opOf("set", item("ready"), { ...terms, ...more });
  expect(of({ priority: 5 })).toEqual({ op: "set", id: "i_1", priority: 5 });
  expect(of({ order: " 7.5 " })).toEqual({ op: "set", id: "i_1", order: "7.5" });
  expect(of({ order: "none", note: "why" })).toEqual({ op: "set", id: "i_1", order: "", note: "why" });
  expect(undoOf("set", [item("ready", { order: "4" }), item("stored")], "back")).toEqual([
    { op: "set", id: "i_1", priority: 3, order: "4", note: "back" },
    { op: "set", id: "i_1", priority: 3, order: "", note: "back" },
  ]);
});

test("what is leased is named by its attempt, and nothing else is", () => {
  expect(opOf("assign", item("ready"), terms)).toEqual({ op: "assign", id: "i_1", worker: "anna" });
  expect(opOf("assign", item("leased"), terms)).toEqual({
    op: "assign",
    id: "i_1",
    worker: "anna",
    attempt: 7,
  });
  expect(opOf("finish", item("ready"), terms)).toEqual({ op: "finish", id: "i_1" });
  expect(opOf("finish", item("leased"), terms)).toEqual({ op: "ack", id: "i_1", attempt: 7 });
  expect(opOf("fail", item("leased"), terms)).toEqual({ op: "nack", id: "i_1", attempt: 7, delay: "10m" });
  expect(opOf("extend", item("leased"), terms)).toEqual({
    op: "extend",
    id: "i_1",
    attempt: 7,
    lease: "10m",
  });
  expect(opOf("store", item("ready"), { ...terms, note: " later " })).toEqual({
    op: "store",
    id: "i_1",
    days: 3,
    note: "later",
  });
  expect(opOf("remove", item("leased"), terms)).toEqual({ op: "remove", id: "i_1", force: true });
  expect(opOf("remove", item("dead"), terms)).toEqual({ op: "remove", id: "i_1" });
});

test("an assignment is taken back to whom it was before; what was leased is passed on for good", () => {
  const undone = undoOf("assign", [item("ready"), item("stored", { id: "i_2", assignee: "bob" })], "undone");
  expect(undone).toEqual([
    { op: "assign", id: "i_1", worker: "", note: "undone" },
    { op: "assign", id: "i_2", worker: "bob", note: "undone" },
  ]);
  expect(undoOf("assign", [item("leased")], "")).toBeUndefined();
  expect(undoOf("store", [item("ready")], "")).toBeUndefined();
});

test("the results of a step are summed up by outcome", () => {
  const result = (id: string, outcome: "ok" | "item_leased" | "lease_lost") => ({ op: "store", id, outcome });
  const { done, refused } = tally([
    result("a", "ok"),
    result("b", "item_leased"),
    result("c", "item_leased"),
  ]);
  expect(done).toEqual(["a"]);
  expect([...refused]).toEqual([["item_leased", 2]]);
});

test.each([
  ["90s", true],
  ["1h30m", true],
  ["2d", true],
  ["1.5h", true],
  ["", false],
  ["10", false],
  ["30m1h", false],
  ["10ms", false],
  ["-1h", false],
])("whether %s is a duration: %s", (text, is) => {
  expect(isSpan(text)).toBe(is);
});
