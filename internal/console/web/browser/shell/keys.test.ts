import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { consoleFixture } from "../support/console";

const shared = consoleFixture();

/** What stands in the fields of the page, and is not there by itself. */
const written = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLInputElement>("input[type=search], input[type=text], textarea")]
      .map((field) => field.value)
      .join(""),
  );
const focused = (page: Page) => page.evaluate(() => document.activeElement?.tagName ?? "");

const pages = "/ /rules /notices /queues /deliveries /subscriptions /types /silences /tokens /audit".split(
  " ",
);

test.each(pages)("keys that do something never end as text in a field of %s", async (from) => {
  const { page } = await shared.open(from);
  await page.locator("main h1").waitFor();
  for (const keys of ["/", "g/", "g?", "gx", "ggg"]) {
    await page.keyboard.type(keys); // as fast as they come
    await expect.poll(() => written(page), { message: `after ${keys}` }).toBe("");
    await page.keyboard.press("Escape"); // leaves a field, closes a dialog
    await expect.poll(() => focused(page)).not.toBe("INPUT");
  }
});

test("a letter that leads to another page is no text of its search, however fast it comes", async () => {
  const { page } = await shared.open("/types");
  await page.getByText("Stock count difference").waitFor();
  for (const [keys, path] of [
    ["gr/", "/rules"],
    ["gt/", "/types"],
    ["gm/", "/silences"],
  ] as const) {
    await page.keyboard.type(keys);
    await page.waitForURL(`**${path}`);
    await page.locator("main input[type=search]").first().waitFor();
    expect(await written(page)).toBe("");
    await page.keyboard.press("Escape");
  }
});

test("Escape leaves the search, with its text, and the keys lead on", async () => {
  const { page } = await shared.open("/types");
  await page.getByText("Stock count difference").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("lot");
  await page.keyboard.press("Escape");
  expect(await focused(page)).toBe("BODY");
  expect(await page.getByRole("searchbox").inputValue()).toBe("lot");
  await page.keyboard.type("gs");
  await page.waitForURL("**/subscriptions");
});

test("where a page has no search, / finds everywhere", async () => {
  const { page } = await shared.open("/tokens/nowhere");
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await page.keyboard.type("/");
  const field = page.getByRole("combobox", { name: "Find" });
  await field.waitFor();
  expect(await field.inputValue()).toBe("");
});
