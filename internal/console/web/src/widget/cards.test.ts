import { expect, test } from "vitest";
import { cardsOf, noticesOf } from "./cards";
import { aNotice } from "./fixtures";
import type { Entry } from "./store";

const entry = (id: string, life: string, status: "firing" | "resolved" | "sent"): Entry => ({
  notice: aNotice(id, { status }),
  order: 0,
  resolved: false,
  life,
});
const ids = (...entries: Entry[]) =>
  cardsOf(entries).map((card) => noticesOf(card).map(({ notice }) => notice.id));

test("a resolution stands with the notices that it resolves, in its own place", () => {
  expect(
    ids(
      entry("sent", "", "sent"),
      entry("over", "a", "resolved"),
      entry("other", "b", "firing"),
      entry("again", "a", "firing"),
      entry("first", "a", "firing"),
    ),
  ).toEqual([["sent"], ["over", "again", "first"], ["other"]]);
});

test("notices of no rule, and a resolution alone, stand for themselves", () => {
  expect(
    ids(entry("sent", "", "resolved"), entry("sent2", "", "sent"), entry("alone", "a", "resolved")),
  ).toEqual([["sent"], ["sent2"], ["alone"]]);
});

test("what fires again after a resolution is not resolved by it", () => {
  expect(
    ids(entry("new", "b", "firing"), entry("over", "a", "resolved"), entry("old", "a", "firing")),
  ).toEqual([["new"], ["over", "old"]]);
});
