import { expect, test } from "vitest";
import { until } from "../support/until";
import { fixture } from "./fixture";

const shared = fixture();

test("everything can be done by keys, and they are the page's own outside of the widget", async () => {
  await shared.users("ann");
  for (const title of ["One", "Two", "Three"]) {
    await shared.send("ann", title);
  }
  const widget = await shared.open(await shared.context());
  const { keyboard } = widget.page;
  const at = (title: string) =>
    until(
      async () =>
        (await widget.page.evaluate(
          () =>
            document.querySelector("tallyman-inbox")?.shadowRoot?.activeElement?.querySelector(".title")
              ?.textContent,
        )) === title,
      `the focus on ${title}`,
    );
  await widget.says("3 unread notices");

  await widget.page.locator("#scan").focus();
  await keyboard.type("je");
  expect(await widget.page.locator("#scan").inputValue()).toBe("je");
  expect(await widget.bell.getAttribute("aria-expanded")).toBe("false");

  await widget.bell.focus();
  await keyboard.press("Enter");
  await at("Three");
  await keyboard.press("j");
  await at("Two");
  await keyboard.press("ArrowDown");
  await at("One");
  await keyboard.press("j");
  await at("One");
  await keyboard.press("k");
  await at("Two");
  await keyboard.press("e");
  await widget.says("2 unread notices");
  await at("Two");
  await keyboard.press("Home");
  await at("Three");
  await keyboard.press("Enter");
  await widget.says("1 unread notice");
  await until(
    () => widget.notices.first().getByRole("button", { expanded: true }).count(),
    "the notice unfolded",
  );
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await until(
    () => widget.notices.first().getByRole("button", { expanded: false }).count(),
    "the notice folded",
  );
  await keyboard.press("End");
  await at("One");
  await keyboard.press("Tab");
  await keyboard.press("Tab");
  await keyboard.press("Space");
  await widget.says("No unread notices");
  await at("One"); // the button that had the focus is gone

  await keyboard.press("Escape");
  await widget.window.waitFor({ state: "detached" });
  expect(await widget.bell.evaluate((bell) => bell.matches(":focus"))).toBe(true);
});
