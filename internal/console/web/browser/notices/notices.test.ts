import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";
import { site } from "./site";

const shared = consoleFixture(site);

interface Found {
  id: string;
  title: string;
  rule: string;
  warehouse: string;
}
const found = async (query: string) =>
  (await shared.server.call<{ notices: Found[] }>("GET", `/api/v1/notices/search?${query}`)).notices;
const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });
const sent = (title: string, more = {}) => ({
  type: "REP_NOTICE",
  warehouse: "119240",
  title,
  body: "By hand.",
  data: { bin: "C-09" },
  recipients: ["user:ann"],
  ...more,
});

let firing: Found;

beforeAll(async () => {
  const { server } = shared;
  await server.send(...Array.from({ length: 230 }, (_, i) => sent(`Sent ${i}`, { priority: 1 + (i % 3) })));
  await server.send(sent("Elsewhere", { warehouse: "119242", type: "WAVE_STUCK", data: { wave: "7" } }));
  await server.call("POST", "/api/v1/rules/negative-bin-stock/run?scope=119240");
  [firing] = (await until(async () => {
    const list = await found("rule=negative-bin-stock");
    return list.length > 0 && list;
  }, "the notice of the rule")) as [Found];
});

test("the list tells what was told, with types by their names, and goes on to the end", async () => {
  const { page } = await shared.open("/notices");
  const first = row(page, "Bin A-01 is at -3");
  for (const text of ["Priority 4", "Firing", "Replenishment notice", "119240", "negative-bin-stock"]) {
    await first.getByText(text, { exact: true }).waitFor();
  }
  await axeBoth(page);
  await until(async () => {
    await page.mouse.wheel(0, 6_000);
    return page.getByText("That is all").isVisible();
  }, "the end of the list");
  await expect.poll(() => page.getByRole("table").getAttribute("aria-rowcount")).toBe("233");
  expect(await page.getByRole("row").count()).toBeLessThan(80);
});

test("filters are asked of the server, live in the address and can be cleared", async () => {
  const { page } = await shared.open("/notices?warehouse=119242");
  await row(page, "Elsewhere").waitFor();
  await expect.poll(() => page.getByRole("row").count()).toBe(2);
  await page.getByRole("combobox", { name: "Warehouse" }).fill("119240");
  await page.getByLabel("Type").selectOption("REP_NOTICE");
  await page.getByLabel("Status").selectOption("firing");
  await page.getByLabel("Priority").selectOption("4");
  await page.getByRole("searchbox", { name: "Rule" }).fill("negative-bin-stock");
  await page.getByRole("searchbox", { name: "Key" }).fill("A-01");
  await page.getByLabel("Time").selectOption("1h");
  await row(page, "Bin A-01 is at -3").waitFor();
  await until(() => new URL(page.url()).searchParams.get("key") === "A-01", "the key in the address");
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
    warehouse: "119240",
    type: "REP_NOTICE",
    status: "firing",
    priority: "4",
    rule: "negative-bin-stock",
    key: "A-01",
    span: "1h",
  });
  await page.getByLabel("Status").selectOption("resolved");
  await page.getByText("Nothing matches these filters").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await row(page, "Elsewhere").waitFor();
  await page.getByLabel("Time").selectOption("own");
  await page.getByLabel("To").fill("2020-01-01T00:00");
  await page.getByText("Nothing matches these filters").waitFor();
});

test("new notices wait until they are asked for, and move nothing", async () => {
  const { page } = await shared.open("/notices?warehouse=119242");
  const known = row(page, "Elsewhere");
  await known.waitFor();
  const before = await known.boundingBox();
  await shared.server.send(
    sent("Just in", { warehouse: "119242" }),
    sent("And one more", { warehouse: "119242" }),
  );
  const pill = page.getByRole("button", { name: "2 new notices" });
  await pill.waitFor();
  expect(await known.boundingBox()).toEqual(before);
  expect(await row(page, "Just in").count()).toBe(0);
  await pill.click();
  await row(page, "Just in").waitFor();
  await pill.waitFor({ state: "detached" });
});

test("a notice is traced from its run to its deliveries, the queue's item and its readers", async () => {
  const { server } = shared;
  const ann = await server.token({
    subject: "user:ann",
    subscribers: ["user:ann", "role:keeper"],
    warehouses: ["119240"],
  });
  const { page } = await shared.open(`/notices/${firing.id}`);
  await page.getByRole("heading", { name: "Bin A-01 is at -3" }).waitFor();
  await page.getByText("The rule ran").waitFor();
  await page.getByText("rows: 1, matched: 1").waitFor();
  for (const sink of ["inbox", "work"]) await page.getByRole("link", { name: sink, exact: true }).waitFor();
  await page.getByText("to role:keeper").waitFor();
  expect(await page.getByRole("link", { name: "Item in the queue work" }).getAttribute("href")).toBe(
    `/queues/work/items/${firing.id}`,
  );
  await page.getByRole("tab", { name: "Chinese" }).click();
  await page.getByText("请补货。").waitFor();
  await axeBoth(page);
  await server.call(
    "POST",
    `/api/v1/notices/${firing.id}/ack?warehouse=119240&subscriber=user:ann&subscriber=role:keeper`,
    undefined,
    ann,
  );
  await server.send(sent("So that the stream ticks"));
  await page.getByText("Acked by user:ann").waitFor();
  await page.getByText("by somebody, and acked").waitFor();
});

test("from a notice one comes to why, and to a silence of it", async () => {
  const { page } = await shared.open(`/notices/${firing.id}`);
  const why = await page.getByRole("link", { name: "Why" }).getAttribute("href");
  expect(why).toBe(
    "/rules/negative-bin-stock?tab=why&scope=119240&key=" + encodeURIComponent('[119240,"A-01"]'),
  );
  await page.getByRole("link", { name: "Silence this" }).click();
  const dialog = page.getByRole("dialog", { name: "New silence" });
  await dialog.waitFor();
  const values = dialog.getByLabel("Value");
  expect([await values.nth(0).inputValue(), await values.nth(1).inputValue()]).toEqual([
    "negative-bin-stock",
    "119240",
  ]);
});

test("a viewer of one warehouse sees its notices alone, and cannot silence", async () => {
  const token = await shared.server.token({
    subject: "user:eve",
    access: ["viewer"],
    warehouses: ["119242"],
  });
  const { page, faults } = await shared.open("/notices", { token });
  faults.expect(/status of 404/);
  await row(page, "Elsewhere").waitFor();
  expect(await row(page, "Bin A-01").count()).toBe(0);
  await row(page, "Elsewhere").getByRole("link").click();
  await page.getByText("A business system sent this notice").waitFor();
  expect(await page.getByRole("link", { name: "Silence this" }).count()).toBe(0);
  await page.goto(`${shared.server.address}/notices/${firing.id}`);
  await page.getByText("there is no notice").waitFor();
});

test("in Chinese on a narrow screen", async () => {
  const { page } = await shared.open("/notices?rule=negative-bin-stock", { ...handheld, locale: "zh" });
  await page.getByText("货位 A-01 库存 -3").waitFor();
  await page.getByText("补货通知").last().waitFor();
  await axeBoth(page);
  await page.getByRole("link", { name: "货位 A-01 库存 -3" }).click();
  await page.getByText("处理过程").waitFor();
  await page.getByText("请补货。").waitFor();
  await axeBoth(page);
});
