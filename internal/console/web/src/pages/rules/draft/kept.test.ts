import { beforeEach, expect, test } from "vitest";
import { Drafts, mostKept } from "./kept";

beforeEach(() => localStorage.clear());
const drafts = (person = "user:ann") => new Drafts(localStorage, person);

test("a draft is of a rule and a person", () => {
  const kept = { text: "id: a\nwhen: n > 5", base: "id: a\nwhen: n > 0", at: 7 };
  expect(drafts().put("a", kept)).toBe(true);
  expect(drafts().get("a")).toEqual(kept);
  expect(drafts("user:bob").get("a")).toBeUndefined();
  drafts().drop("a");
  expect(drafts().get("a")).toBeUndefined();
});

test("beyond the bound the oldest goes", () => {
  for (let i = 0; i <= mostKept; i++) drafts().put(`r${i}`, { text: "x", base: "", at: 100 + i });
  expect(drafts().get("r0")).toBeUndefined();
  expect(drafts().get("r1")).toBeDefined();
  expect(drafts().get(`r${mostKept}`)).toBeDefined();
});

test("a storage that is full, forbidden or broken keeps nothing, and says so", () => {
  const full = {
    ...localStorage,
    setItem: () => {
      throw new DOMException("full");
    },
  } as unknown as Storage;
  expect(new Drafts(full, "x").put("a", { text: "", base: "", at: 0 })).toBe(false);
  expect(new Drafts(undefined, "x").put("a", { text: "", base: "", at: 0 })).toBe(false);
  localStorage.setItem("tallyman.draft.user:ann a", "{broken");
  expect(drafts().get("a")).toBeUndefined();
});
