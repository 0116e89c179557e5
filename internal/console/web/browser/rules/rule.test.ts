import { expect, test } from "vitest";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";
import { ruleSite, type RuleAnswer } from "./site";

const shared = consoleFixture(ruleSite);
const rule = (id: string) => shared.server.call<RuleAnswer>("GET", `/api/v1/rules/${id}`);

interface Run {
  scope: string;
  outcome: string;
  rows: number;
}
const runs = async (id: string) =>
  (await shared.server.call<{ runs: Run[] }>("GET", `/api/v1/rules/${id}/runs`)).runs;

test("a rule says what it is, and is run now; its finding is explained", async () => {
  const { page } = await shared.open("/rules/negative-bin-stock?scope=119240");
  await page.getByRole("heading", { name: "negative-bin-stock" }).waitFor();
  const runbook = page.getByRole("link", { name: /wiki.example.com/ });
  expect(await runbook.getAttribute("href")).toBe("https://wiki.example.com/negative-bin");
  const silence = page.getByRole("link", { name: "Silence", exact: true });
  expect(await silence.getAttribute("href")).toBe("/silences?create=1&matcher=rule%3Dnegative-bin-stock");
  await page.getByText("No findings are open").waitFor();
  await axeBoth(page);

  await page.getByRole("button", { name: "Run now" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This cannot be undone.").waitFor();
  await dialog.getByRole("button", { name: "Run now" }).click();
  await page.getByRole("region", { name: "The run has ended" }).waitFor();
  expect(await runs("negative-bin-stock")).toMatchObject([{ scope: "119240", outcome: "ok", rows: 2 }]);

  const findings = page.getByRole("table", { name: "Findings" });
  await findings.getByText("119240, A-01").waitFor();
  await findings.getByRole("button", { name: "Why? 119240, A-01" }).click();
  const why = page.getByTestId("why");
  await why.getByText("The probe returns the row, and it meets the condition.").waitFor();
  await why.getByText("repeat", { exact: true }).waitFor();
  await why.getByText("qty < 0").waitFor();
  await axeBoth(page);
  await page.getByLabel("Key", { exact: true }).fill("119240, A-02");
  await page.keyboard.press("Enter");
  await why.getByText("The probe returns the row, and it does not meet the condition.").waitFor();
  expect(new URL(page.url()).searchParams.get("key")).toBe("119240, A-02");

  await page.getByRole("tab", { name: "Runs" }).click();
  await page.getByRole("table", { name: "Runs" }).getByText("OK").waitFor();
  await axeBoth(page);
});

test("the preview shows rows, why not, and notices in their languages; nothing is told", async () => {
  const { page, faults } = await shared.open("/rules/negative-bin-stock?tab=preview&scope=119241");
  faults.expect(/status of 422/);
  await page.getByRole("button", { name: "Preview", exact: true }).click();
  const report = page.getByTestId("preview");
  await report.getByText("Bin A-01 is at -3").waitFor();
  await report.getByText("货位 A-01 库存 -3").waitFor();
  await report.getByText("qty < 0 is false").waitFor();
  await axeBoth(page);
  expect((await runs("negative-bin-stock")).filter((run) => run.scope === "119241")).toEqual([]);
  await page.getByLabel("As if due at").fill("yesterday");
  await page.getByRole("button", { name: "Preview again" }).click();
  await page.getByRole("alert").waitFor();
});

test("the source has its lines, and what is wrong with it", async () => {
  const { page } = await shared.open("/rules/without-table?tab=source");
  const text = page.getByRole("textbox", { name: "The rule as it runs, in YAML" });
  await text.getByText("SELECT n FROM nowhere").waitFor();
  expect(await text.getAttribute("aria-readonly")).toBe("true");
  await page.locator(".cm-lint-marker-error").waitFor();
  await page.locator(".cm-lineNumbers").getByText("33", { exact: true }).waitFor();
  await axeBoth(page);
  await page.getByRole("region", { name: "Problems" }).getByRole("button").click();
  expect(await text.evaluate((element) => element.matches(":focus"))).toBe(true);
  await page.keyboard.press("Tab");
  expect(await text.evaluate((element) => element.matches(":focus"))).toBe(false);
});

test("a file that differs on the disk is held against what runs", async () => {
  const { page } = await shared.open("/rules/on-trial?tab=findings");
  await page.route("**/api/v1/rules/on-trial/source", async (route) => {
    const answer = await route.fetch();
    const source = (await answer.json()) as { text: string };
    const disk = { file: "stock.yaml", line: 26, text: source.text.replace("n > 0", "n > 5"), problems: [] };
    await route.fulfill({ json: { ...source, disk } });
  });
  await page.getByRole("tab", { name: "Source" }).click();
  const diff = page.getByRole("region", { name: "From the running version to the file on the disk" });
  await diff.getByRole("row", { name: /removed when: n > 0/ }).waitFor();
  await diff.getByRole("row", { name: /added when: n > 5/ }).waitFor();
});

test("a draft is tried, its problem marked where it is, and nothing is saved", async () => {
  const { page, context } = await shared.open("/rules/negative-bin-stock?tab=draft&scope=119240");
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const text = page.getByRole("textbox", { name: "Draft of the rule, in YAML" });
  await page.getByRole("switch").first().waitFor(); // the page has its final height
  await text.getByText("qty < 0").scrollIntoViewIfNeeded();
  await text.getByText("qty < 0").click();
  await page.locator(".cm-activeLine", { hasText: "qty < 0" }).waitFor();
  await page.keyboard.press("End");
  await page.keyboard.type("0");
  await page.keyboard.press("Enter");
  await page.keyboard.type("no_dta: keep_last");
  await page.getByRole("button", { name: "Try the draft" }).click();
  await page.getByText('Hint: did you mean "no_data"?').waitFor();
  await page.locator(".cm-lintRange-error", { hasText: "no_dta" }).waitFor();
  await axeBoth(page);
  await page.getByRole("button", { name: /^line \d+:\d+$/ }).click();
  for (let i = 0; i < 6; i++) await page.keyboard.press("Delete");
  await page.keyboard.type("no_data");
  await page.getByRole("button", { name: "Try the draft" }).click();
  await page.getByText("The file would be accepted.").waitFor();
  const fields = page.getByRole("region", { name: "What changes" }).first();
  await fields.getByRole("row", { name: /^no_data / }).waitFor();
  await fields.getByRole("row", { name: /^when qty < 0 qty < 00/ }).waitFor();
  await page.getByTestId("preview").waitFor();
  await axeBoth(page);
  await page.getByRole("button", { name: "Copy the draft" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain("no_data: keep_last");
  const source = await shared.server.call<{ text: string }>("GET", "/api/v1/rules/negative-bin-stock/source");
  expect(source.text).not.toContain("no_data: keep_last");

  // Tab moves the text; Escape and then Tab leaves. What was typed can be taken back.
  await text.focus();
  await page.keyboard.press("Tab");
  expect(await text.evaluate((element) => element.matches(":focus"))).toBe(true);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  expect(await text.evaluate((element) => element.matches(":focus"))).toBe(false);
  await page.getByRole("button", { name: "Discard the draft" }).click();
  await until(async () => !(await text.innerText()).includes("no_data: keep_last"), "the running text");
});

test("what is typed in a draft is taken back and brought again", async () => {
  const { page } = await shared.open("/rules/on-trial?tab=draft");
  const text = page.getByRole("textbox", { name: "Draft of the rule, in YAML" });
  await page.getByRole("switch").first().waitFor(); // the page has its final height
  await text.getByText("A rule on trial").click();
  await page.locator(".cm-activeLine", { hasText: "A rule on trial" }).waitFor();
  await page.keyboard.press("End");
  await page.keyboard.type(" for now");
  await expect.poll(() => text.innerText()).toContain("A rule on trial for now");
  await page.keyboard.press("Control+z");
  await until(async () => !(await text.innerText()).includes("for now"), "the typing to be taken back");
  await page.keyboard.press("Control+y");
  await until(async () => (await text.innerText()).includes("for now"), "the typing to come again");
});

test("a rule is disabled in all scopes at once, and that is undone", async () => {
  const { page } = await shared.open("/rules/negative-bin-stock");
  await page.getByRole("button", { name: "Disable all" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
  await page.getByText("negative-bin-stock is disabled").waitFor();
  const off = await rule("negative-bin-stock");
  expect(off.scopes.map((scope) => [scope.enabled, scope.switch?.scope])).toEqual([
    [false, "*"],
    [false, "*"],
  ]);
  await page.getByRole("button", { name: "Undo" }).click();
  const toggle = page.getByRole("switch").first();
  await until(async () => (await toggle.getAttribute("aria-checked")) === "true", "the rule to run again");
  expect((await rule("negative-bin-stock")).scopes.every((scope) => scope.enabled)).toBe(true);
});

test("a rule in shadow says so, and is promoted", async () => {
  const { page } = await shared.open("/rules/on-trial");
  await page.getByText("Shadow", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Promote" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This cannot be undone.").waitFor();
  await dialog.getByRole("button", { name: "Promote" }).click();
  await page.getByText("on-trial is promoted from its next run on").waitFor();
  await until(async () => (await rule("on-trial")).scopes[0]?.promoted !== undefined, "the rule to be live");
  await page.getByText("Promoted since").waitFor();
});

test("a viewer sees no actions and no tabs that he may not use", async () => {
  const token = await shared.server.token({ subject: "user:vera", access: ["viewer"] });
  const { page } = await shared.open("/rules/negative-bin-stock", { token });
  await page.getByRole("tab", { name: "Source" }).waitFor();
  expect(await page.getByRole("tab", { name: /Preview|Draft/ }).count()).toBe(0);
  expect(await page.getByRole("button", { name: /Run now|Disable all|Promote/ }).count()).toBe(0);
  expect(await page.getByRole("link", { name: "Silence", exact: true }).count()).toBe(0);
});

test("a rule that is not there says so, on a handheld in Chinese", async () => {
  const { page, faults } = await shared.open("/rules/nowhere", { ...handheld, locale: "zh" });
  faults.expect(/status of 404/);
  await page.getByRole("alert").getByText("内容不存在").waitFor();
  await page.goto(`${shared.server.address}/rules/negative-bin-stock`);
  await page.getByRole("tab", { name: "预览" }).waitFor();
  await axeBoth(page);
  const wide = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
  expect(await page.evaluate(wide)).toBe(0);
});
