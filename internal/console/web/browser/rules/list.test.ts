import { expect, test } from "vitest";
import { axe } from "../support/page";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";
import { listSite, type RuleAnswer } from "./site";

const shared = consoleFixture(listSite);
const rule = (id: string) => shared.server.call<RuleAnswer>("GET", `/api/v1/rules/${id}`);
const paused = async () =>
  (await shared.server.call<{ paused?: { reason?: string } }>("GET", "/api/v1/rules?limit=1")).paused;

test("the list is searched, narrowed and sorted, and its address says how", async () => {
  const { page } = await shared.open("/rules");
  const table = page.getByRole("table", { name: "Rules" });
  await table.getByRole("link", { name: "at-rest" }).waitFor();
  await page.getByRole("button", { name: "205 All" }).waitFor();
  expect(await table.getByRole("row").count()).toBeLessThan(80); // what is out of sight is not there
  await axeBoth(page);

  await page.getByRole("searchbox").fill("severity=high bin");
  await table.getByRole("link", { name: "negative-bin-stock" }).nth(1).waitFor();
  await expect.poll(() => table.getByRole("row").count()).toBe(3);
  expect(new URL(page.url()).searchParams.get("q")).toBe("severity=high bin");
  await page.getByLabel("Warehouse or scope").selectOption("119241");
  await until(async () => (await table.getByRole("row").count()) === 2, "one row");
  await page.getByRole("button", { name: "Shadow" }).click();
  await page.getByText("Nothing matches these filters").waitFor();
  await axeBoth(page);
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await table.getByRole("link", { name: "at-rest" }).waitFor();
  expect(new URL(page.url()).search).toBe("");

  await page.getByRole("button", { name: "1 Unverified" }).click();
  await table.getByText(/no such table/).waitFor();
  await page.getByRole("button", { name: "205 All" }).click();
  await table.getByRole("button", { name: "Rule" }).click();
  await table.getByRole("button", { name: "Rule" }).click();
  await table.getByRole("link", { name: "without-table" }).waitFor();
  await expect
    .poll(() => table.getByRole("columnheader", { name: "Rule" }).getAttribute("aria-sort"))
    .toBe("descending");
});

test("problems of the files say where and what to do; the files are read again", async () => {
  const { page } = await shared.open("/rules");
  const problems = page.getByRole("region", { name: "Problems of the rule files" });
  await problems.getByText("bad.yaml:3:37").waitFor();
  await problems.getByText('Hint: did you mean "schedule"?').waitFor();
  await page.getByRole("button", { name: "Reload files" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This cannot be undone.").waitFor();
  await dialog.getByRole("button", { name: "Reload files" }).click();
  await page
    .getByRole("status")
    .getByText(/205 rules in force from 3 files: 0 added, 0 changed/)
    .waitFor();
});

test("a rule is disabled in one scope for a while, with the keyboard, and that is undone", async () => {
  const { page } = await shared.open("/rules?q=negative");
  const toggle = page.getByRole("switch", { name: "negative-bin-stock in 119240 runs" });
  await toggle.waitFor();
  expect(await toggle.getAttribute("aria-checked")).toBe("true");
  await toggle.focus();
  await page.keyboard.press("Space");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("radio", { name: "4 hours" }).check();
  await dialog.getByLabel("Reason").fill("stocktake");
  await axeBoth(page);
  await page.keyboard.press("Enter");
  await page.getByText("negative-bin-stock in 119240 is disabled").waitFor();
  const [off, other] = (await rule("negative-bin-stock")).scopes;
  expect(off).toMatchObject({ enabled: false, health: "disabled", switch: { reason: "stocktake" } });
  const left = Date.parse(off?.switch?.until ?? "") - Date.now();
  expect(Math.round(left / 3_600_000)).toBe(4);
  expect(other?.enabled).toBe(true);
  await page.getByText("Disabled by user:root: stocktake").waitFor();

  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await toggle.getAttribute("aria-checked")) === "true", "the rule to run again");
  expect((await rule("negative-bin-stock")).scopes[0]?.switch).toBeUndefined();
});

test("what is switched back to its file needs no question, and undone it is switched as before", async () => {
  await shared.server.call("POST", "/api/v1/rules/negative-bin-stock/disable?scope=119241", {
    for: "2h",
    reason: "moving",
  });
  const { page } = await shared.open("/rules?switched=1");
  const toggle = page.getByRole("switch", { name: "negative-bin-stock in 119241 runs" });
  await toggle.click();
  await page.getByText("negative-bin-stock in 119241 is enabled").waitFor();
  expect((await rule("negative-bin-stock")).scopes[1]).toMatchObject({ enabled: true });
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await toggle.getAttribute("aria-checked")) === "false", "the rule to be off");
  const back = (await rule("negative-bin-stock")).scopes[1];
  expect(back?.switch).toMatchObject({ state: "disabled", reason: "moving" });
  expect(back?.switch?.until).toBeDefined();
  await shared.server.call("POST", "/api/v1/rules/negative-bin-stock/clear?scope=119241");
});

test("all rules are paused and resumed, and both can be undone", async () => {
  const { page } = await shared.open("/rules");
  await page.getByRole("button", { name: "Pause all" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("upgrade");
  await dialog.getByRole("button", { name: "Pause all" }).click();
  const banner = page.getByRole("region", { name: "All rules are paused" });
  await banner.getByText("By user:root: upgrade").waitFor();
  expect((await paused())?.reason).toBe("upgrade");
  await expect.poll(() => page.getByRole("switch").first().isDisabled()).toBe(true);
  await axeBoth(page);
  await banner.getByRole("button", { name: "Resume" }).click();
  await banner.waitFor({ state: "detached" });
  expect(await paused()).toBeUndefined();
  await page.getByRole("button", { name: "Undo" }).last().click();
  await banner.waitFor();
  expect((await paused())?.reason).toBe("upgrade");
  await banner.getByRole("button", { name: "Resume" }).click();
  await banner.waitFor({ state: "detached" });
});

test("what somebody else switches is seen without asking, and rows stay where they are", async () => {
  const { page } = await shared.open("/rules?health=disabled&q=at-rest");
  const toggle = page.getByRole("switch", { name: "at-rest runs" });
  await toggle.waitFor();
  await shared.server.call("POST", "/api/v1/rules/at-rest/enable");
  await until(async () => (await toggle.getAttribute("aria-checked")) === "true", "the switch to follow");
  await page.getByRole("button", { name: "1 row has changed: update the list" }).click();
  await page.getByText("Nothing matches these filters").waitFor();
  await shared.server.call("POST", "/api/v1/rules/at-rest/clear");
});

test("a viewer looks and changes nothing", async () => {
  const token = await shared.server.token({ subject: "user:vera", access: ["viewer"] });
  const { page } = await shared.open("/rules?q=negative", { token });
  const toggle = page.getByRole("switch").first();
  await toggle.waitFor();
  expect(await toggle.isDisabled()).toBe(true);
  expect(await page.getByRole("button", { name: /Pause all|Reload files/ }).count()).toBe(0);
});

test("a server that fails, one that is away, and how the list comes back", async () => {
  const { page, faults } = await shared.open("/login-is-not-a-page");
  faults.expect(/status of 503/, /ERR_FAILED|ERR_INTERNET_DISCONNECTED|Failed to fetch/);
  const problem = { code: "ledger_unavailable", detail: "the ledger did not answer", requestId: "r-1" };
  await page.route("**/api/v1/rules?*", (route) => route.fulfill({ status: 503, json: problem }));
  await page.getByRole("link", { name: "Rules", exact: true }).click();
  const alert = page.getByRole("alert");
  await alert.getByText("the ledger did not answer").waitFor();
  await axe(page);
  await page.unroute("**/api/v1/rules?*");
  await page.route("**/api/v1/rules?*", (route) => route.abort());
  await alert.getByRole("button", { name: "Try again" }).click();
  await alert.getByText("The server cannot be reached").waitFor();
  await page.unroute("**/api/v1/rules?*");
  await alert.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "at-rest" }).waitFor();
});

test("in Chinese, on a handheld", async () => {
  const { page } = await shared.open("/rules?q=negative", { ...handheld, locale: "zh" });
  await page.getByRole("heading", { name: "规则", exact: true }).waitFor();
  await page.getByText("有发现项").waitFor();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight)); // what is far below is not drawn
  const toggle = page.getByRole("switch", { name: "negative-bin-stock（119240） 运行" });
  await toggle.waitFor();
  await axeBoth(page);
  const box = await toggle.boundingBox();
  expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(44);
  const wide = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
  expect(await page.evaluate(wide)).toBe(0);
  await toggle.tap();
  await page.getByRole("dialog").getByText("停用 negative-bin-stock（119240）？").waitFor();
  await page.getByRole("button", { name: "取消" }).tap();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
});
