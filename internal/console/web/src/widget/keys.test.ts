import { expect, test } from "vitest";
import { keyAction } from "./keys";

function press(key: string, more: Partial<KeyboardEvent> = {}, tag = "article") {
  const target = document.createElement(tag);
  return keyAction({
    key,
    target,
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    isComposing: false,
    ...more,
  });
}

test("keys of the list", () => {
  expect(["j", "k", "J", "ArrowDown", "Home", "Enter", "e", "Escape", "x"].map((key) => press(key))).toEqual([
    "next",
    "previous",
    "next",
    "next",
    "first",
    "choose",
    "read",
    "close",
    undefined,
  ]);
});

test("those of the browser and of an input method are left alone", () => {
  expect(press("e", { ctrlKey: true })).toBeUndefined();
  expect(press("j", { metaKey: true })).toBeUndefined();
  expect(press("k", { altKey: true })).toBeUndefined();
  expect(press("Enter", { isComposing: true })).toBeUndefined();
});

test("fields and buttons have their own, but for Esc", () => {
  expect(press("j", {}, "select")).toBeUndefined();
  expect(press("Enter", {}, "button")).toBeUndefined();
  expect(press("j", {}, "button")).toBe("next");
  expect(press("Escape", {}, "select")).toBe("close");
});
