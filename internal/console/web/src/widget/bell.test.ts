import { render } from "preact";
import { expect, test } from "vitest";
import { bell } from "./bell";
import type { Inbox } from "./inbox";
import type { Count } from "./store";
import { text } from "./text";

/** The button for an inbox of which this is known. */
function drawn(loaded: boolean, count: Count): HTMLButtonElement {
  const inbox = { locale: "en", loaded, count, open: false, trouble: undefined };
  const ground = document.createElement("div");
  render(bell(Object.assign(inbox, { text: () => text("en", "title") }) as unknown as Inbox), ground);
  return ground.querySelector("button")!;
}

test("the number is one that the label has, written alike", () => {
  const button = drawn(true, { unread: 1200, urgent: 1, more: false });
  expect(button.textContent).toBe("!1,200");
  expect(button.getAttribute("aria-label")).toBe("1,200 unread notices, 1 urgent");
  expect(drawn(true, { unread: 999, urgent: 0, more: true }).textContent).toBe("999+");
});

test("there is no number before all notices have come, nor where none is unread", () => {
  const button = drawn(false, { unread: 23, urgent: 1, more: false });
  expect(button.textContent).toBe("");
  expect(button.getAttribute("aria-label")).toBe("Notices");
  expect(button.className).toBe("bell");
  expect(drawn(true, { unread: 0, urgent: 0, more: false }).textContent).toBe("");
});
