import { expect, test } from "vitest";
import { groups, pageOf } from "./actions";
import { compare, omitted } from "./states";
import { actionText } from "./text";

test("a change is told by the lines that differ, whatever the order of the members", () => {
  expect(compare({ state: "disabled", by: "user:ann" }, { by: "user:ann", state: "enabled" })).toEqual([
    { kind: "same", lines: ["{", '  "by": "user:ann",'], left: 0, tail: [] },
    { kind: "removed", lines: ['  "state": "disabled"'], left: 0, tail: [] },
    { kind: "added", lines: ['  "state": "enabled"'], left: 0, tail: [] },
    { kind: "same", lines: ["}"], left: 0, tail: [] },
  ]);
});

test("what was not there before is all new, and what is gone all old", () => {
  expect(compare(undefined, { a: 1 }).map((run) => run.kind)).toEqual(["added"]);
  expect(compare({ a: 1 }, undefined).map((run) => run.kind)).toEqual(["removed"]);
});

test("long runs that are alike are cut, three lines around a change stay", () => {
  const list = Array.from({ length: 30 }, (_, i) => i);
  const runs = compare({ list, a: 1, z: 1 }, { list, a: 2, z: 2 });
  const middle = runs.find((run) => run.kind === "same" && run.left > 0);
  expect(middle?.lines).toHaveLength(3);
  expect(middle?.tail).toHaveLength(3);
  expect(middle?.left).toBe(26);
});

test("states that are alike are one run, in full", () => {
  expect(compare({ a: 1 }, { a: 1 })).toEqual([
    { kind: "same", lines: ["{", '  "a": 1', "}"], left: 0, tail: [] },
  ]);
});

test("a state that was too large says so", () => {
  expect(omitted({ omittedBytes: 70_000 })).toBe(70_000);
  expect(omitted({ a: 1 })).toBeUndefined();
  expect(omitted(undefined)).toBeUndefined();
});

test.each([
  ["rule:negative-bin-stock:119240", "/rules/negative-bin-stock"],
  ["item:replenishment:a:b", "/queues/replenishment/items/a%3Ab"],
  ["silence:s_1", "/silences?state=all&id=s_1"],
  ["rules", "/rules"],
  ["delivery:7", "/deliveries?delivery=7"],
  ["/unknown", undefined],
])("%s is shown at %s", (object, page) => {
  expect(pageOf(object)).toBe(page);
});

test("every action that the filter offers has words", () => {
  for (const action of groups.flatMap((group) => group.actions)) expect(actionText(action)).not.toBe(action);
  expect(actionText("something.new")).toBe("something.new");
});
