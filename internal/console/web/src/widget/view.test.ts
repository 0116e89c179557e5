import { beforeEach, expect, test, vi } from "vitest";
import { h, View } from "./view";

let root: HTMLElement;
let view: View;

beforeEach(() => {
  document.body.replaceChildren((root = document.createElement("div")));
  view = new View(root);
});

const item = (key: string) => h("li", { key, tabindex: 0 }, key);

test("elements, attributes and texts become what is planned", () => {
  view.render(h("p", { class: "a", hidden: true, "aria-busy": "false" }, "one"));
  expect(root.innerHTML).toBe('<p class="a" hidden="" aria-busy="false">one</p>');
  view.render(h("p", { class: "b", hidden: false }, "two"));
  expect(root.innerHTML).toBe('<p class="b">two</p>');
  view.render();
  expect(root.innerHTML).toBe("");
});

test("what stays is the same element, and keeps the focus when others come and go", () => {
  view.render(h("ul", {}, [item("a"), item("b")]));
  const [a, b] = root.querySelectorAll("li");
  b!.focus();
  view.render(h("ul", {}, [item("new"), item("a"), item("b")]));
  expect(root.textContent).toBe("newab");
  expect(root.querySelectorAll("li")[1]).toBe(a);
  expect(document.activeElement).toBe(b);
  view.render(h("ul", {}, [item("b"), item("c")]));
  expect(root.textContent).toBe("bc");
  expect(document.activeElement).toBe(b);
});

test("what is not there keeps its place", () => {
  const buttons = (first: boolean) =>
    h("div", {}, first && h("button", {}, "first"), h("button", {}, "second"));
  view.render(buttons(true));
  const second = root.querySelectorAll("button")[1]!;
  second.focus();
  view.render(buttons(false));
  expect(document.activeElement).toBe(second);
  view.render(buttons(true));
  expect(root.textContent).toBe("firstsecond");
});

test("a listener is the one of the last plan", () => {
  const [old, now] = [vi.fn(), vi.fn()];
  view.render(h("button", { onclick: old }));
  view.render(h("button", { onclick: now }));
  root.querySelector("button")!.click();
  expect([old.mock.calls.length, now.mock.calls.length]).toEqual([0, 1]);
  view.render(h("button", {}));
  root.querySelector("button")!.click();
  expect(now).toHaveBeenCalledTimes(1);
});

test("an element is told when it is in the page and when it goes, at any depth", () => {
  const told: string[] = [];
  const ref = (element: HTMLElement) => {
    told.push(`in ${element.isConnected}`);
    return () => told.push("out");
  };
  const plan = () => h("div", {}, h("p", { ref }));
  view.render(plan());
  view.render(plan());
  expect(told).toEqual(["in true"]);
  view.render();
  expect(told).toEqual(["in true", "out"]);
});

test("a select shows its value, of options that came at the same time", () => {
  const select = (value: string) =>
    h(
      "select",
      { value },
      ["a", "b"].map((each) => h("option", { key: each, value: each }, each)),
    );
  view.render(select("b"));
  expect(root.querySelector("select")!.value).toBe("b");
  view.render(select("a"));
  expect(root.querySelector("select")!.value).toBe("a");
});

test("drawings are of their own namespace", () => {
  view.render(h("svg", {}, h("path", { d: "M0 0" })));
  expect(root.querySelector("path")!.namespaceURI).toBe("http://www.w3.org/2000/svg");
});
