import { expect, test } from "vitest";
import { axe } from "../support/page";
import { fixture } from "./fixture";

const shared = fixture();

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, not even something minor, ${scheme}`, async () => {
    const user = `axe-${scheme}`;
    await shared.users(user);
    await shared.send(user, "Old", { data: { bin: "A-01", qty: "-3" } });
    await shared.send(user, "Very urgent", { priority: 5 });
    await shared.send(user, "Urgent", { priority: 4 });
    const widget = await shared.open(await shared.context(), { user, scheme });
    await widget.says("3 unread notices, 2 urgent");
    await axe(widget.page);
    await widget.bell.click();
    await widget.lists("Urgent", "Very urgent", "Old");
    await widget.notices.last().locator(".title").click();
    await widget.window.getByRole("group").getByRole("button", { name: "Urgent" }).click();
    await widget.page.getByRole("button", { name: "Mark all read" }).click();
    await axe(widget.page);
    await shared.send(user, "Stop", { modal: "popup", priority: 5 });
    await widget.popup.waitFor();
    await axe(widget.page);
  });
}

test("on a handheld of 360 px the window is the screen, and what is touched is large", async () => {
  await shared.users("hand");
  await shared.send("hand", "One", { priority: 5 });
  const context = await shared.context({
    viewport: { width: 360, height: 640 },
    hasTouch: true,
    isMobile: true,
  });
  const widget = await shared.open(context, { user: "hand" });
  await widget.says("1 unread notice, 1 urgent");
  await widget.bell.tap();
  await widget.lists("One");
  expect(await widget.window.boundingBox()).toEqual({ x: 0, y: 0, width: 360, height: 640 });
  expect(await widget.page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  const sizes = await widget.page.evaluate(() => {
    const buttons = document
      .querySelector("tallyman-inbox")!
      .shadowRoot!.querySelectorAll("button:not(.title), select");
    return [...buttons]
      .map((each) => each.getBoundingClientRect())
      .map(({ width, height }) => Math.min(width, height));
  });
  expect(sizes.length).toBeGreaterThan(5);
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(44);
  await shared.send("hand", "Stop", { modal: "popup" });
  await widget.popup.waitFor();
  const box = (await widget.popup.boundingBox())!;
  expect(box.x).toBeGreaterThanOrEqual(0);
  expect(box.x + box.width).toBeLessThanOrEqual(360);
});

test("pages change its look by custom properties and parts", async () => {
  await shared.users("thea");
  const widget = await shared.open(await shared.context(), { user: "thea" });
  await widget.says("No unread notices");
  const colours = await widget.page.evaluate(() => {
    const element = document.querySelector<HTMLElement>("tallyman-inbox")!;
    element.style.setProperty("--tallyman-surface", "rgb(1, 2, 3)");
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("tallyman-inbox::part(header) { background: rgb(4, 5, 6) }");
    document.adoptedStyleSheets = [sheet];
    (element as HTMLElement & { show(): void }).show();
    return new Promise<string[]>((resolve) => {
      requestAnimationFrame(() => {
        const window = element.shadowRoot!.querySelector(".window")!;
        resolve(
          [window, window.querySelector("[part=header]")!].map(
            (each) => getComputedStyle(each).backgroundColor,
          ),
        );
      });
    });
  });
  expect(colours).toEqual(["rgb(1, 2, 3)", "rgb(4, 5, 6)"]);
});
