import { expect, test } from "vitest";
import { batchOf } from "./batches";

const event = (name: string, data: unknown, id?: string) => ({
  event: name,
  data: JSON.stringify(data),
  ...(id && { id }),
});

test("events of a chunk become one batch", () => {
  const { batch, end } = batchOf([
    event("notice", { id: "a" }, "c1"),
    event("change", { id: "b", kind: "read" }),
    event("change", { id: "a", kind: "acked" }, "c2"),
    event("unread", { unread: 3, unreadMore: false }, "c2"),
  ]);
  expect(batch).toEqual({
    notices: [{ id: "a" }],
    changes: [
      { id: "b", kind: "read" },
      { id: "a", kind: "acked" },
    ],
    count: { unread: 3, unreadMore: false },
    cursor: "c2",
  });
  expect(end).toBeUndefined();
});

test("a reset drops what came before it", () => {
  expect(
    batchOf([event("notice", { id: "a" }, "c1"), event("reset", {}), event("notice", { id: "b" }, "d1")])
      .batch,
  ).toEqual({
    reset: true,
    notices: [{ id: "b" }],
    cursor: "d1",
  });
});

test("the end says why, and a comment says nothing", () => {
  expect(batchOf([event("end", { reason: "shutdown" })])).toEqual({ end: "shutdown" });
  expect(batchOf([])).toEqual({});
});
