import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";

const shared = consoleFixture();

const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
const ready = (page: Page) => page.getByText("Stock count difference").waitFor();

test("language and colours are chosen, and kept over a reload", async () => {
  const { page } = await shared.open("/types");
  await ready(page);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByRole("button", { name: "Language · Colours" }).press("Enter");
  await page.getByLabel("Colours", { exact: true }).selectOption("dark");
  expect(await ground()).not.toBe(light);
  await page.getByLabel("Language", { exact: true }).selectOption("zh");
  await page.getByRole("heading", { name: "类型" }).waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
  await page.reload();
  await page.getByText("盘点差异").waitFor();
  expect(await ground()).not.toBe(light);
  await page.getByRole("button", { name: "语言 · 颜色" }).click();
  await page.getByLabel("颜色", { exact: true }).selectOption("system");
  expect(await ground()).toBe(light);
  await page.emulateMedia({ colorScheme: "dark" });
  await until(async () => (await ground()) !== light, "the device's dark colours");
  await page.keyboard.press("Escape");
  await page.getByLabel("颜色", { exact: true }).waitFor({ state: "hidden" });
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label")))
    .toBe("语言 · 颜色");
});

test("the first Tab offers to skip what every page has", async () => {
  const { page } = await shared.open("/types");
  await ready(page);
  await page.keyboard.press("Tab");
  expect(await focused(page)).toBe("Skip to the content");
  await axeBoth(page);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await expect.poll(() => focused(page)).toBe("New type");
  expect(await page.getByRole("heading", { name: "Types" }).count()).toBe(1); // and it is the same page
});

test("the keyboard leads everywhere", async () => {
  const { page } = await shared.open("/types");
  await ready(page);
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard" });
  await help.getByText("Subscriptions").waitFor();
  await axeBoth(page);
  await page.keyboard.press("g");
  await page.keyboard.press("k"); // not while a dialog is open
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "hidden" });
  expect(new URL(page.url()).pathname).toBe("/types");
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.waitForURL("**/subscriptions");
  await page.getByRole("heading", { name: "Subscriptions" }).waitFor();
  await until(
    async () => (await focused(page)) === "Subscriptions",
    "the focus at the title of the new page",
  );
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.waitForURL("**/types");
  await ready(page);
  await page.keyboard.press("/");
  await page.keyboard.type("g k?/"); // in a field they are letters
  await expect.poll(() => page.getByRole("searchbox").inputValue()).toBe("g k?/");
  expect(new URL(page.url()).pathname).toBe("/types");
  await page.goBack();
  await page.getByRole("heading", { name: "Subscriptions" }).waitFor();
});

test("a page that there is not says so, with a way out", async () => {
  const { page } = await shared.open("/nowhere");
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await axeBoth(page);
  await page.getByRole("link", { name: "To the overview" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
});

test("on a narrow screen the menu opens, leads on, and closes with Esc, a touch elsewhere or the focus", async () => {
  const { page } = await shared.open("/types", handheld);
  await ready(page);
  const menu = page.getByRole("button", { name: "Menu" });
  const link = page.getByRole("link", { name: "Tokens" });
  expect(await link.isVisible()).toBe(false);
  await menu.press("Enter");
  await link.waitFor();
  await expect.poll(() => menu.getAttribute("aria-expanded")).toBe("true");
  await until(async () => (await focused(page)) === "Types", "the focus at where we are");
  await axeBoth(page);
  await page.keyboard.press("Escape");
  await link.waitFor({ state: "hidden" });
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label")))
    .toBe("Menu");
  await menu.tap();
  await link.waitFor();
  await page.touchscreen.tap(340, 85); // beside the title, where there is nothing to press
  await link.waitFor({ state: "hidden" });
  await menu.press("Enter");
  await page.getByRole("link", { name: "Audit" }).focus();
  await page.keyboard.press("Tab");
  await link.waitFor({ state: "hidden" });
  await menu.tap();
  await link.tap();
  await page.waitForURL("**/tokens");
  await link.waitFor({ state: "hidden" });
});
