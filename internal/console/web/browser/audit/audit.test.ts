import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { site } from "../notices/site";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";

const shared = consoleFixture(site);

interface Change {
  id: number;
  action: string;
  object: string;
  by: string;
}
const changes = async (query = "") =>
  (await shared.server.call<{ changes: Change[] }>("GET", `/api/v1/audit${query}`)).changes;
const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });
const disable = (reason: string) =>
  shared.server.call("POST", "/api/v1/rules/negative-bin-stock/disable", { reason });
const enable = () => shared.server.call("POST", "/api/v1/rules/negative-bin-stock/enable");

beforeAll(async () => {
  const type = { code: "AUDITED", id: 900_001, name: "Audited" };
  await shared.server.call("POST", "/api/v1/types", type);
  await shared.server.call("PUT", "/api/v1/types/AUDITED", { ...type, name: "Renamed" });
  await disable("stocktake in aisle 7");
});

test("a record tells who did what to what, and its diff what has changed", async () => {
  const { page } = await shared.open("/audit");
  const disabled = row(page, "Rule disabled");
  await disabled.getByText("stocktake in aisle 7").waitFor();
  await disabled.getByText("user:root").waitFor();
  expect(await disabled.getByRole("link").getAttribute("href")).toBe("/rules/negative-bin-stock");
  const replaced = row(page, "Type replaced");
  await replaced.getByRole("button", { name: "Show the change" }).focus();
  await page.keyboard.press("Enter");
  const diff = page.getByRole("region", { name: "What has changed" });
  await diff.getByText('−  "name": "Audited"').waitFor();
  await diff.getByText('+  "name": "Renamed"').waitFor();
  await axeBoth(page);
  await replaced.getByRole("button", { name: "Hide the change" }).click();
  await diff.waitFor({ state: "detached" });
});

test("filters narrow the list, stay in the address, and can be cleared", async () => {
  const { page } = await shared.open("/audit?object=type%3AAUDITED");
  await row(page, "Type created").waitFor();
  expect(await row(page, "Rule disabled").count()).toBe(0);
  await page.getByLabel("Action").selectOption("type.put");
  await row(page, "Type created").waitFor({ state: "detached" });
  await row(page, "Type replaced").waitFor();
  expect(new URL(page.url()).searchParams.get("action")).toBe("type.put");
  expect(await changes("?object=type%3AAUDITED&action=type.put")).toHaveLength(1);
  await page.getByRole("combobox", { name: "Who" }).fill("user:nobody");
  await page.getByText("Nothing matches these filters").waitFor();
  await axeBoth(page);
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await row(page, "Rule disabled").first().waitFor();
  await page.getByLabel("Since").selectOption("1h");
  await row(page, "Rule disabled").first().waitFor();
});

test("a new record waits until it is asked for", async () => {
  const { page } = await shared.open("/audit?action=rule.enable");
  await page.getByText("Nothing matches these filters").waitFor();
  await enable();
  await row(page, "Rule enabled").waitFor(); // nobody reads an empty list
  await disable("again");
  await enable();
  const pill = page.getByRole("button", { name: "1 new record" });
  await pill.waitFor();
  await expect.poll(() => row(page, "Rule enabled").count()).toBe(1);
  await pill.click();
  await until(async () => (await row(page, "Rule enabled").count()) === 2, "the new record");
});

test("pages follow when the end comes into sight", async () => {
  const put = (i: number) => shared.server.call("PUT", `/api/v1/subscribers/user:u${i}`, { name: `U ${i}` });
  await Promise.all(Array.from({ length: 130 }, (_, i) => put(i)));
  const { page } = await shared.open("/audit?action=subscriber");
  await row(page, "Subscriber saved").first().waitFor();
  await until(async () => {
    await page.mouse.wheel(0, 4_000);
    return page.getByText("That is all").isVisible();
  }, "the end of the list");
  await expect.poll(() => page.getByRole("table").getAttribute("aria-rowcount")).toBe("131");
});

test("those who do not see all warehouses are told so in the server's words", async () => {
  const token = await shared.server.token({
    subject: "user:eve",
    access: ["viewer"],
    warehouses: ["119240"],
  });
  const { page, faults } = await shared.open("/audit", { token });
  faults.expect(/status of 403/);
  await page.getByText("the audit covers all warehouses, and your token does not").waitFor();
  expect(await page.getByRole("search").count()).toBe(0);
});

test("in Chinese on a narrow screen", async () => {
  const { page } = await shared.open("/audit?object=type%3AAUDITED", { ...handheld, locale: "zh" });
  await row(page, "创建类型").waitFor();
  await page.getByRole("button", { name: "显示变更" }).first().click();
  await page.getByRole("region", { name: "变更内容" }).waitFor();
  await axeBoth(page);
});

test("a failure of the server is shown, and tried again", async () => {
  const { page, faults } = await shared.open("/");
  faults.expect(/status of 503/);
  await page.route("**/api/v1/audit?*", (route) =>
    route.fulfill({
      status: 503,
      contentType: "application/problem+json",
      body: JSON.stringify({ code: "ledger_unavailable", detail: "the ledger did not answer" }),
    }),
  );
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByText("the ledger did not answer").waitFor();
  await page.unroute("**/api/v1/audit?*");
  const shown = row(page, "Subscriber saved").first();
  // A change on the server makes the page ask by itself, and the button goes before it is clicked.
  await Promise.race([page.getByRole("button", { name: "Try again" }).click(), shown.waitFor()]);
  await shown.waitFor();
});
