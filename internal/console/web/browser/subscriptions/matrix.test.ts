import type { Page } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";

const shared = consoleFixture();

interface Subscription {
  type: string;
  warehouse: string;
  subscriber: string;
}
const path = "/api/v1/subscriptions";
const all = async () =>
  (
    await shared.server.call<{ subscriptions: Subscription[] }>("GET", `${path}?limit=1000`)
  ).subscriptions.map(({ type, warehouse, subscriber }): Subscription => ({ type, warehouse, subscriber }));
const has = async (type: string, warehouse: string, subscriber: string) =>
  (await all()).some(
    (each) => each.type === type && each.warehouse === warehouse && each.subscriber === subscriber,
  );
const add = (subscriptions: Subscription[]) =>
  shared.server.call("POST", `${path}/import`, { subscriptions });
const start: Subscription[] = [
  { type: "LOT_EXPIRY", warehouse: "*", subscriber: "role:keeper" },
  { type: "REP_NOTICE", warehouse: "119240", subscriber: "role:keeper" },
  { type: "REP_NOTICE", warehouse: "119241", subscriber: "user:ann" },
];

beforeEach(async () => {
  for (const each of await all()) {
    await shared.server.call("DELETE", `${path}?${new URLSearchParams({ ...each })}`);
  }
  await add(start);
});

const cell = (page: Page, name: string) => page.getByRole("checkbox", { name });

test("a warehouse shows what is subscribed in it, and what it inherits", async () => {
  const { page } = await shared.open("/subscriptions");
  await page.getByRole("grid", { name: "Subscriptions" }).waitFor();
  await cell(page, "Lot near expiry, keeper: subscribed in all warehouses").waitFor();
  await page.getByLabel("Warehouse", { exact: true }).selectOption("119240");
  const inherited = cell(page, "Lot near expiry, keeper: inherited from all warehouses");
  await inherited.waitFor();
  expect(await inherited.getAttribute("aria-checked")).toBe("mixed");
  const here = cell(page, "Replenishment notice, keeper: subscribed in 119240");
  expect(await here.getAttribute("aria-checked")).toBe("true");
  await cell(page, "Replenishment notice, ann: not subscribed").waitFor();
  await axeBoth(page);
  expect(new URL(page.url()).searchParams.get("warehouse")).toBe("119240");
  await page.reload();
  await inherited.waitFor();
});

test("arrows move, Space subscribes, and undo takes it back", async () => {
  const { page } = await shared.open("/subscriptions?warehouse=119240");
  const first = page.getByRole("grid").getByRole("checkbox").first();
  await first.waitFor();
  expect(await page.locator('[role=grid] [tabindex="0"]').count()).toBe(1);
  await first.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Control+End");
  await page.keyboard.press("Home");
  await page.keyboard.press("Control+Home");
  const order = cell(page, "Lot near expiry, keeper: inherited from all warehouses");
  expect(await order.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press("ArrowRight"); // ann
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  expect(await focused()).toBe("Lot near expiry, ann: not subscribed");
  await page.keyboard.press("Space");
  await page.getByText("user:ann gets LOT_EXPIRY in 119240").waitFor();
  expect(await has("LOT_EXPIRY", "119240", "user:ann")).toBe(true);
  await cell(page, "Lot near expiry, ann: subscribed in 119240").waitFor();
  expect(await focused()).toBe("Lot near expiry, ann: subscribed in 119240"); // it has not lost the focus
  await page.getByRole("button", { name: "Undo" }).click();
  await cell(page, "Lot near expiry, ann: not subscribed").waitFor();
  await until(async () => !(await has("LOT_EXPIRY", "119240", "user:ann")), "the subscription to be gone");
});

test("a subscription is taken away with the mouse, and put back", async () => {
  const { page } = await shared.open("/subscriptions?warehouse=119240");
  await cell(page, "Replenishment notice, keeper: subscribed in 119240").click();
  await page.getByText("role:keeper no longer gets REP_NOTICE in 119240").waitFor();
  expect(await has("REP_NOTICE", "119240", "role:keeper")).toBe(false);
  await page.getByRole("button", { name: "Undo" }).click();
  await cell(page, "Replenishment notice, keeper: subscribed in 119240").waitFor();
  expect(await has("REP_NOTICE", "119240", "role:keeper")).toBe(true);
});

test("what is inherited can be subscribed too, and stays inherited after that is taken away", async () => {
  const { page } = await shared.open("/subscriptions?warehouse=119240");
  await cell(page, "Lot near expiry, keeper: inherited from all warehouses").click();
  const both = cell(page, "Lot near expiry, keeper: subscribed in 119240, and inherited from all warehouses");
  await both.waitFor();
  await until(() => has("LOT_EXPIRY", "119240", "role:keeper"), "the subscription");
  await page.getByText("also without the subscription for all warehouses").waitFor();
  await both.click();
  await page.getByText("role:keeper still gets LOT_EXPIRY in 119240").waitFor();
  expect(await has("LOT_EXPIRY", "119240", "role:keeper")).toBe(false);
  expect(await has("LOT_EXPIRY", "*", "role:keeper")).toBe(true);
});

test("a refused change leaves the cell as it was", async () => {
  const { page, faults } = await shared.open("/subscriptions?warehouse=119240");
  faults.expect(/status of 503/);
  const free = cell(page, "Lot near expiry, ann: not subscribed");
  await free.waitFor();
  await page.route("**/api/v1/subscriptions", (route) =>
    route.request().method() === "POST"
      ? route.fulfill({
          status: 503,
          json: { code: "ledger_unavailable", detail: "the ledger did not answer" },
        })
      : route.continue(),
  );
  await free.click();
  await page.getByText("the ledger did not answer").waitFor();
  await free.waitFor();
});

test("hundreds of users are pages of columns, found by name, with a first column that stays", async () => {
  const many = Array.from({ length: 300 }, (_, i) => ({
    type: "REP_NOTICE",
    warehouse: "*",
    subscriber: `user:u${String(i).padStart(3, "0")}`,
  }));
  await add(many);
  const { page } = await shared.open("/subscriptions");
  await page.getByText("Columns 1–24 of 302").waitFor();
  const heads = page.getByRole("columnheader");
  await expect.poll(() => heads.count()).toBe(25);
  await page.getByRole("button", { name: /^Next: Columns/ }).click();
  await page.getByText("Columns 25–48 of 302").waitFor();
  const row = page.getByRole("rowheader").first();
  const before = await row.boundingBox();
  await page.keyboard.press("Tab");
  await page.getByRole("checkbox").first().focus();
  await page.keyboard.press("End");
  const last = page.locator("[role=grid] [data-row='0'][data-column='23']");
  await last.waitFor();
  const after = await row.boundingBox();
  expect(after?.x).toBe(before?.x);
  expect((await last.boundingBox())?.x).toBeGreaterThan((after?.x ?? 0) + (after?.width ?? 0) - 1);
  await page.getByLabel("Search roles and users").fill("u299");
  await cell(page, "Replenishment notice, u299: subscribed in all warehouses").waitFor();
  await expect.poll(() => heads.count()).toBe(2);
  await page.getByLabel("Search roles and users").fill("nobody");
  await page.getByText("Nothing matches these filters").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByLabel("Roles or users").selectOption("role");
  await until(async () => (await heads.count()) === 2, "the one role");
});

test("a viewer looks and cannot toggle; one of a single warehouse sees that alone", async () => {
  const token = await shared.server.token({
    subject: "user:vic",
    access: ["viewer"],
    warehouses: ["119240"],
  });
  const { page } = await shared.open("/subscriptions", { token });
  const here = cell(page, "Replenishment notice, keeper: subscribed in 119240");
  await here.waitFor();
  await page.getByText("your token is not for all warehouses").waitFor();
  expect(await here.getAttribute("aria-readonly")).toBe("true");
  await here.click();
  expect(await here.getAttribute("aria-checked")).toBe("true");
  expect(await has("REP_NOTICE", "119240", "role:keeper")).toBe(true);
  expect(await page.getByRole("button", { name: /^(Import|Add)/ }).count()).toBe(0);
  expect(await page.getByRole("columnheader").allInnerTexts()).not.toContain("ann");
});

test("a client who types the address is told that he may not see it", async () => {
  const token = await shared.server.token({ subject: "user:cle", warehouses: ["119240"] });
  const { page, faults } = await shared.open("/subscriptions", { token });
  faults.expect(/status of 403/);
  await page.getByText("Your token may not see this").waitFor();
});

test("nothing is known yet; a handheld in Chinese", async () => {
  for (const each of start) await shared.server.call("DELETE", `${path}?${new URLSearchParams({ ...each })}`);
  const { page } = await shared.open("/subscriptions", { ...handheld, locale: "zh" });
  await page.getByText("还没有已知的角色或用户").waitFor();
  await add(start);
  await page.reload();
  const free = cell(page, "批次临近效期，ann：未订阅");
  await free.waitFor();
  await axeBoth(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await free.tap();
  await page.getByText("user:ann 将在所有仓库收到 LOT_EXPIRY").waitFor();
  expect(await has("LOT_EXPIRY", "*", "user:ann")).toBe(true);
});
