import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { KeyboardPerson, MousePerson } from "../support/clicks";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";

const site = `version: 1
rules:
  - id: bin-below-zero
    title: Bin below zero
    source: wms
    schedule: {cron: "@every 1s"}
    probe: {sql: "SELECT '119240' AS wh, 'A-01' AS bin, 'SKU-7' AS sku, -3 AS qty"}
    when: qty < 0
    key: [bin]
    notice: {type: REP_NOTICE, warehouse: wh, title: "Bin {{ .bin }} is at {{ .qty }}", fields: {bin: bin}}
    deliver: [{sink: inbox}, {sink: refill}]
`;
const shared = consoleFixture({
  rules: { "site.yaml": site },
  files: { "wms.db": "" },
  config: `sinks: {inbox: {type: inbox}, refill: {type: queue}}
sources: {wms: {driver: sqlite, url: "sqlite:wms.db"}}
`,
});

interface Found {
  notices: { id: string }[];
  findings: unknown[];
  items: { id: string }[];
}
const find = (text: string) => shared.server.call<Found>("GET", `/api/v1/find?q=${encodeURIComponent(text)}`);

beforeAll(async () => {
  await shared.server.send({
    type: "REP_NOTICE",
    warehouse: "119240",
    title: "Order SO-77 waits",
    body: "",
    data: { bin: "B-09" },
    recipients: ["user:ann"],
  });
  await shared.server.call("POST", "/api/v1/queues/refill/items", {
    items: [{ id: "i-77", payload: { order: "SO-77" }, dedupeKey: "SO-77" }],
  });
  await until(async () => {
    const found = await find("A-01");
    return found.findings.length === 1 && found.notices.length === 1 && found.items.length === 1;
  }, "the finding with its notice and its item");
});

const palette = (page: Page) => page.getByRole("dialog", { name: "Find" });
const option = (page: Page, group: string, text: string | RegExp) =>
  palette(page).getByRole("group", { name: group }).getByRole("option", { name: text });

test.each(["/", "/rules", "/types", "/queues/refill", "/audit"])(
  "two clicks lead from %s to what is known of a bin",
  async (from) => {
    const { page } = await shared.open(from);
    await page.locator("main h1").waitFor();
    const person = new MousePerson();
    await person.press(page.getByRole("button", { name: /^Find (Ctrl|⌘)/ }));
    await palette(page).getByRole("combobox").waitFor();
    await page.keyboard.type("a-01"); // the field has the focus, and capitals are not needed
    await option(page, "Notices", /Bin A-01 is at -3/).waitFor();
    await option(page, "Items", /refill/).waitFor();
    await person.press(option(page, "Findings", /A-01/));
    await page.waitForURL("**/rules/bin-below-zero?**");
    expect(new URL(page.url()).searchParams.get("key")).toBe('["A-01"]');
    await page.getByTestId("why").getByText("Firing", { exact: false }).first().waitFor();
    expect(person.clicks).toBe(2);
  },
);

test("the keyboard alone finds an order, an item of it, a rule and a page", async () => {
  const { page } = await shared.open("/types");
  await page.getByText("Stock count difference").waitFor();
  const person = new KeyboardPerson(page);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("SO-77");
  await option(page, "Items", /SO-77/).waitFor();
  await axeBoth(page);
  const chosen = () => palette(page).locator("[aria-selected=true]").innerText();
  await expect.poll(chosen).toContain("Order SO-77 waits");
  expect(await palette(page).getByRole("combobox").getAttribute("aria-activedescendant")).toBe(
    await palette(page).locator("[aria-selected=true]").getAttribute("id"),
  );
  await page.keyboard.press("ArrowDown");
  await expect.poll(chosen).toContain("refill");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Order SO-77 waits" }).waitFor();

  await page.keyboard.press("Control+k");
  await page.keyboard.type("below");
  await option(page, "Rules", /bin-below-zero/).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/rules/bin-below-zero");

  await page.keyboard.press("Meta+k");
  await page.keyboard.type("silen");
  await option(page, "Pages", "Silences").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/silences");
  expect(person.clicks).toBe(0);
});

test("Escape closes it and gives the focus back; what nothing has is said so", async () => {
  const { page } = await shared.open("/types");
  const button = page.getByRole("button", { name: /^Find (Ctrl|⌘)/ });
  await button.press("Enter");
  await palette(page).getByRole("combobox").fill("nowhere at all");
  await palette(page).getByText("Nothing contains this text.").waitFor();
  await axeBoth(page);
  await page.keyboard.press("Escape");
  await palette(page).waitFor({ state: "hidden" });
  await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true);
});

test("it opens in a field, too, and fits a handheld in Chinese", async () => {
  const { page } = await shared.open("/types", { ...handheld, locale: "zh" });
  await page.getByRole("searchbox").click();
  await page.keyboard.press("Control+k");
  const dialog = page.getByRole("dialog", { name: "查找" });
  await page.keyboard.type("A-01");
  await dialog.getByRole("group", { name: "发现项" }).getByRole("option").waitFor();
  await dialog.getByText("持续中").first().waitFor();
  await axeBoth(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
});

test("who may see one warehouse finds what is its own", async () => {
  const token = await shared.server.token({
    subject: "user:vic",
    access: ["viewer"],
    warehouses: ["119241"],
  });
  const found = await shared.server.call<Found>("GET", "/api/v1/find?q=A-01", undefined, token);
  expect([found.notices, found.findings, found.items]).toEqual([[], [], []]);
});
