import { expect, test } from "vitest";
import { hasRanges, isListState, itemHref, movedOn, payloadFault, queueHref, summary } from "./model";

test.each([
  [{ title: "Bin A-01 is at -3", qty: 1 }, "Bin A-01 is at -3"],
  [{ bin: "A-01", qty: -3, deep: { x: 1 }, none: null, ok: true }, "bin A-01 · qty -3 · ok true"],
  [["a", { b: 1 }], "a, b 1"],
  ["text", "text"],
  [null, "null"],
  [7, "7"],
])("what %j is about: %s", (payload, line) => {
  expect(summary(payload)).toBe(line);
});

test("a payload is JSON of at most 64 KB, counted in bytes without the spaces", () => {
  expect(payloadFault(' {"a": 1} ')).toBeUndefined();
  expect(payloadFault("{a: 1}")).toMatchObject({ fault: "json" });
  expect(payloadFault("")).toMatchObject({ fault: "json" });
  const most = JSON.stringify("x".repeat(64 * 1024 - 2));
  expect(payloadFault(most)).toBeUndefined();
  expect(payloadFault(`[${" ".repeat(70_000)}]`)).toBeUndefined();
  expect(payloadFault(JSON.stringify("é".repeat(32 * 1024)))).toEqual({ fault: "size" });
});

test("what has left a list is known as far as the list was read anew", () => {
  const list = (...ids: string[]) => ids.map((id) => ({ id }));
  expect(movedOn(list("a", "b", "c"), list("b", "c"), true)).toEqual(new Set(["a"]));
  expect(movedOn(list("a", "b", "c"), list("b", "d"), false)).toEqual(new Set(["a"])); // c may be on a page further on
  expect(movedOn(list("a", "b"), list("x"), false)).toEqual(new Set());
  expect(movedOn(list("a", "b"), [], true)).toEqual(new Set(["a", "b"]));
});

test("addresses name the queue, the twin and the state", () => {
  expect(queueHref("a b", false)).toBe("/queues/a%20b");
  expect(queueHref("q", true, "dead")).toBe("/queues/q?state=dead&test=true");
  expect(itemHref("q", "x/1", true)).toBe("/queues/q/items/x%2F1?test=true");
});

test("states come from the address only where there are such", () => {
  expect(isListState("stored")).toBe(true);
  expect(isListState("lost")).toBe(false);
  expect(isListState(null)).toBe(false);
  expect(["ready", "leased", "dead", "done"].map((state) => hasRanges(state as "ready"))).toEqual([
    true,
    false,
    true,
    false,
  ]);
});
