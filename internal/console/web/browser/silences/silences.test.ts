import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { site } from "../notices/site";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";

const shared = consoleFixture(site);

interface Silence {
  id: string;
  state: string;
  matchers: string[];
  comment?: string;
  until?: string;
  next?: string;
  window?: { cron: string; timezone: string; duration: string };
}
const silences = async () =>
  (await shared.server.call<{ silences: Silence[] }>("GET", "/api/v1/silences")).silences;
const commented = async (comment: string, state: string) =>
  (await silences()).find((each) => each.comment === comment && each.state === state);
const add = (fields: object) => shared.server.call<Silence>("POST", "/api/v1/silences", fields);
const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });

beforeAll(async () => {
  await shared.server.call("POST", "/api/v1/rules/negative-bin-stock/run?scope=119240");
});

test("without silences the page says what they are for", async () => {
  const { page } = await shared.open("/silences");
  await page.getByText("Nothing is silenced").waitFor();
  await axeBoth(page);
});

test("a silence is made of what a notice asks for, and its undo expires it", async () => {
  const { page } = await shared.open(
    "/silences?create=1&matcher=rule%3Dnegative-bin-stock&matcher=warehouse%3D119240",
  );
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Right now the silence matches 1 rule with 1 finding that fires.").waitFor();
  await expect.poll(() => dialog.getByLabel("Value").nth(1).inputValue()).toBe("119240");
  expect(new URL(page.url()).search).toBe("");
  await axeBoth(page);
  await dialog.getByLabel("Lasts").selectOption("1h");
  await dialog.getByLabel("Comment").fill("stocktake in aisle 7");
  await page.keyboard.press("Enter");
  await row(page, "stocktake in aisle 7").getByText("Active").waitFor();
  const made = await commented("stocktake in aisle 7", "active");
  expect(made?.matchers).toEqual(["rule=negative-bin-stock", "warehouse=119240"]);
  expect(Math.round((Date.parse(made?.until ?? "") - Date.now()) / 60_000)).toBe(60);
  await page.getByRole("button", { name: "Undo" }).click();
  await until(() => commented("stocktake in aisle 7", "expired"), "the silence to be over");
  await row(page, "stocktake in aisle 7").waitFor({ state: "detached" });
});

test("a window tells when it opens, and the server's refusal stands at its field", async () => {
  const { page, faults } = await shared.open("/silences");
  faults.expect(/status of 422/);
  await page.getByRole("button", { name: "New silence" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Value").fill("negative-bin-stock");
  await dialog.getByRole("radio", { name: "In a recurring window" }).check();
  await dialog.getByLabel("Timezone").fill("Asia/Shanghai");
  await dialog.getByLabel("Opens (cron)").fill("0 22 * *");
  await dialog.getByLabel("Comment").fill("every Saturday");
  await dialog.getByRole("button", { name: "Add the silence" }).click();
  await dialog.getByText("has 4 fields").waitFor();
  await axeBoth(page);
  await dialog.getByLabel("Opens (cron)").fill("0 22 * * 6");
  await dialog
    .getByText("The window opens at 22:00 (Asia/Shanghai) on Saturday and stays open for 8 hr")
    .waitFor();
  await dialog.getByRole("button", { name: "Add the silence" }).click();
  await row(page, "every Saturday").waitFor();
  const made = (await silences()).find((each) => each.comment === "every Saturday");
  expect(made?.window).toEqual({ cron: "0 22 * * 6", timezone: "Asia/Shanghai", duration: "8h" });
  expect(new Date(made?.next ?? "").getUTCHours()).toBe(14);
});

test("to expire one is asked for, and undone with the rest of its time", async () => {
  const { until: end } = await add({ matchers: ["type=REP_NOTICE"], for: "3h", comment: "to expire" });
  const { page } = await shared.open("/silences");
  await row(page, "to expire").getByRole("button", { name: "Expire" }).click();
  const question = page.getByRole("dialog", { name: "Expire this silence now?" });
  await question.getByText("You can undo this right afterwards.").waitFor();
  await axeBoth(page);
  await question.getByRole("button", { name: "Expire" }).click();
  await until(() => commented("to expire", "expired"), "the silence to be over");
  await page.getByRole("button", { name: "Undo" }).click();
  const again = await until(() => commented("to expire", "active"), "the silence to be back");
  expect(again.until).toBe(end);
  expect(again.matchers).toEqual(["type=REP_NOTICE"]);
});

test("a change adds a new silence and expires the old one", async () => {
  const old = await add({ matchers: ["rule=negative-bin-stock"], for: "3h", comment: "to change" });
  const { page } = await shared.open("/silences");
  await row(page, "to change").getByRole("button", { name: "Change" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("A silence cannot be changed in place").waitFor();
  await dialog.getByLabel("Comparison").selectOption({ label: "fits" });
  await dialog.getByLabel("Value").fill("negative-.*");
  await dialog.getByRole("button", { name: "Save the change" }).click();
  const made = await until(
    async () => (await silences()).find((each) => each.matchers[0] === "rule=~negative-.*"),
    "the new silence",
  );
  expect(made).toMatchObject({ state: "active", comment: "to change" });
  await until(
    async () => (await silences()).find((each) => each.id === old.id)?.state === "expired",
    "the old one to be over",
  );
});

test("what is searched for stays in the address; a viewer sees no buttons, and a silence in full", async () => {
  await add({ matchers: ["area=inbound"], for: "3h", comment: "seen by a viewer" });
  const token = await shared.server.token({ subject: "user:eve", access: ["viewer"] });
  const { page } = await shared.open("/silences", { token });
  await row(page, "seen by a viewer").waitFor();
  expect(await page.getByRole("button", { name: /New silence|Expire|Change/ }).count()).toBe(0);
  await page.getByRole("searchbox").fill("no such thing");
  await page.getByText("Nothing matches these filters").waitFor();
  expect(new URL(page.url()).searchParams.get("q")).toBe("no such thing");
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await row(page, "seen by a viewer").getByTitle("Show the silence").click();
  await page.getByRole("dialog").getByText("user:root").waitFor();
});

test("in Chinese on a narrow screen, and out of date when the server is out of reach", async () => {
  await add({ matchers: ["area=outbound"], for: "3h", comment: "narrow" });
  const { page, faults } = await shared.open("/silences", { ...handheld, locale: "zh" });
  faults.expect(/ERR_FAILED/);
  await page.getByText("narrow").waitFor();
  await page.getByRole("button", { name: "新建静默" }).waitFor();
  await axeBoth(page);
  const over = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(over).toBeLessThanOrEqual(0);
  await page.route("**/api/v1/silences", (route) => route.abort());
  await add({ matchers: ["area=late"], for: "3h" });
  await shared.server.call("POST", "/api/v1/rules/at-rest/enable"); // the stream ticks
  await page.getByText("内容已过时").waitFor();
  await page.getByText("narrow").waitFor();
});
