import { expect, test } from "vitest";
import { aNotice, noon } from "./fixtures";
import { Popups } from "./popups";
import { Store } from "./store";
import type { Notice } from "./types";

function setup(...notices: Notice[]) {
  const store = new Store();
  store.apply({ notices, loaded: true }, noon);
  const popups = new Popups();
  return { store, popups, next: (now = noon) => popups.next(store, now)?.entry.notice.id };
}

const popup = (id: string, more: Partial<Notice> = {}) => aNotice(id, { modal: "popup", ...more });

test("the most urgent first, of these the oldest, and only what is modal", () => {
  const { store, popups, next } = setup(
    popup("new", { createTime: 20 }),
    popup("old", { createTime: 10 }),
    popup("urgent", { priority: 5, createTime: 30 }),
    aNotice("silent"),
  );
  expect(popups.next(store, noon)).toMatchObject({ waiting: 2, entry: { notice: { id: "urgent" } } });
  store.ask("urgent", "acked");
  expect(next()).toBe("old");
  store.ask("old", "acked");
  expect(next()).toBe("new");
  store.ask("new", "acked");
  expect(next()).toBeUndefined();
});

test("one that is shown stays, though a more urgent one comes", () => {
  const { store, next } = setup(popup("first"));
  expect(next()).toBe("first");
  store.apply({ notices: [popup("urgent", { priority: 5 })] }, noon);
  expect(next()).toBe("first");
});

test("one that was put off comes again", () => {
  const { popups, next } = setup(popup("a"));
  popups.putOff("a", noon + 1000);
  expect(next()).toBeUndefined();
  expect(next(noon + 1000)).toBe("a");
});

test("one that is refused comes back, one that is over or expired does not", () => {
  const life = { rule: "r", scope: "s", key: "k", episode: "1" };
  const { store, next } = setup(popup("a", { ...life, status: "firing" }));
  store.ask("a", "acked");
  expect(next()).toBeUndefined();
  store.settle([{ id: "a", kind: "acked" }], false);
  expect(next()).toBe("a");
  expect(next(Date.parse("2026-06-02T00:00:00Z"))).toBeUndefined();
  store.apply({ notices: [aNotice("over", { ...life, status: "resolved", modal: "popup" })] }, noon);
  expect(next()).toBeUndefined();
});
