import { text as textOf } from "node:stream/consumers";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { KeyboardPerson, MousePerson, type Person } from "../support/clicks";
import { axeBoth, consoleFixture } from "../support/console";
import { until } from "../support/until";
import { ruleSite, type RuleAnswer } from "./site";

const shared = consoleFixture(ruleSite);

interface Silence {
  matchers: string[];
  state: string;
}
const silences = async () =>
  (await shared.server.call<{ silences: Silence[] }>("GET", "/api/v1/silences")).silences;
const scope = async (name: string) =>
  (await shared.server.call<RuleAnswer>("GET", "/api/v1/rules/negative-bin-stock")).scopes.find(
    (each) => each.scope === name,
  );

/** Each task is done twice: with a mouse, whose clicks are bounded, and without one. */
const people: [string, (page: Page) => Person][] = [
  ["with a mouse", () => new MousePerson()],
  ["by keyboard", (page) => new KeyboardPerson(page)],
];

/** Chooses one of a group of which Tab reaches the chosen one, and arrows the others. */
async function pick(person: Person, group: Locator, name: string, steps: number): Promise<void> {
  const middle = { x: 0.5, y: 0.5 };
  if (person instanceof MousePerson) return person.press(group.getByRole("radio", { name }));
  return person.pressAt(group.locator("input:checked"), middle, Array<string>(steps).fill("ArrowDown"));
}

test.each(people)(
  "a rule is disabled in one warehouse for two hours, or until any time, %s",
  async (_, who) => {
    const { page } = await shared.open("/rules/negative-bin-stock?scope=119241");
    const toggle = page.getByRole("switch", { name: "negative-bin-stock in 119241 runs" });
    const dialog = page.getByRole("dialog");
    await toggle.waitFor();

    const forTwoHours = who(page);
    await forTwoHours.press(toggle);
    await pick(forTwoHours, dialog, "2 hours", 1);
    await forTwoHours.press(dialog.getByRole("button", { name: "Disable" }));
    await until(async () => (await scope("119241"))?.enabled === false, "the rule to be off");
    expect(forTwoHours.clicks).toBeLessThanOrEqual(4);
    const off = await scope("119241");
    expect(off?.switch).toMatchObject({ scope: "119241", state: "disabled" });
    expect(Math.round((Date.parse(off?.switch?.until ?? "") - Date.now()) / 60_000)).toBe(120);
    expect((await scope("119240"))?.enabled).toBe(true);
    await shared.server.call("POST", "/api/v1/rules/negative-bin-stock/clear?scope=119241");
    await expect.poll(() => toggle.getAttribute("aria-checked")).toBe("true");

    const untilEve = who(page);
    await untilEve.press(toggle);
    await pick(untilEve, dialog, "Until a chosen time", 5);
    const field = dialog.getByLabel("Until when");
    await expect.poll(() => field.evaluate((element) => element === document.activeElement)).toBe(true);
    await page.keyboard.type("12242031"); // as the field takes it in English
    await page.keyboard.press("ArrowRight"); // a year may have more digits, and Tab need not stop at the hour
    await page.keyboard.type("0630PM");
    await axeBoth(page);
    await untilEve.press(dialog.getByRole("button", { name: "Disable" }));
    await until(async () => (await scope("119241"))?.enabled === false, "the rule to be off");
    expect(untilEve.clicks).toBeLessThanOrEqual(4);
    expect((await scope("119241"))?.switch?.until).toBe(
      new Date(2031, 11, 24, 18, 30).toISOString().replace(".000", ""),
    );
    await page.getByText("ends in").first().waitFor();
    await shared.server.call("POST", "/api/v1/rules/negative-bin-stock/clear?scope=119241");
  },
);

test.each(people)("one finding is silenced from its notice, %s", async (_, who) => {
  await shared.server.call("POST", "/api/v1/rules/negative-bin-stock/run?scope=119240");
  const found = await until(async () => {
    const path = "/api/v1/notices/search?rule=negative-bin-stock";
    const { notices } = await shared.server.call<{ notices: { id: string }[] }>("GET", path);
    return notices[0];
  }, "the notice");
  const { page } = await shared.open(`/notices/${found.id}`);
  const person = who(page);
  const before = (await silences()).length;
  await person.press(page.getByRole("link", { name: "Silence this" }));
  const dialog = page.getByRole("dialog");
  await dialog.getByText("only findings with this key").waitFor();
  await person.press(dialog.getByRole("button", { name: "Add the silence" }));
  await until(async () => (await silences()).length > before, "the silence");
  expect(person.clicks).toBeLessThanOrEqual(3);
  expect((await silences())[0]).toMatchObject({
    state: "active",
    matchers: ["rule=negative-bin-stock", "warehouse=119240", 'key=[119240,"A-01"]'],
  });
});

test.each(people)("a draft is edited, previewed, kept over a reload and downloaded, %s", async (_, who) => {
  const { page } = await shared.open("/rules/on-trial?tab=findings");
  const person = who(page);
  const editor = page.getByTestId("code");
  if (person instanceof MousePerson) await person.press(page.getByRole("tab", { name: "Draft" }));
  else {
    const tabs = page.getByRole("tab", { selected: true });
    await person.pressAt(tabs, { x: 0, y: 0 }, ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"]);
  }
  await page.getByRole("button", { name: "Try the draft" }).waitFor();
  await person.pressAt(editor, { x: 0.5, y: 0.2 }, []);
  for (const key of ["Control+Home", "ArrowDown", "End"]) await page.keyboard.press(key);
  await page.keyboard.type(" for now");
  await page.getByRole("status").getByText("No problems").waitFor();
  const diff = page.getByRole("region", { name: "From the running text to the draft" });
  await diff.getByRole("row", { name: /added title: A rule on trial for now/ }).waitFor();
  await page.keyboard.press("Escape");
  await person.press(page.getByRole("button", { name: "Try the draft" }));
  await page.getByTestId("preview").waitFor();
  const downloaded = page.waitForEvent("download");
  await person.press(page.getByRole("button", { name: "Download a patch" }));
  const download = await downloaded;
  expect(person.clicks).toBeLessThanOrEqual(4);
  expect(download.suggestedFilename()).toBe("on-trial.patch");
  const patch = await textOf(await download.createReadStream());
  expect(patch).toContain("--- a/stock.yaml\n+++ b/stock.yaml\n@@ ");
  expect(patch).toContain("-    title: A rule on trial\n+    title: A rule on trial for now\n");

  await page.reload();
  await page.getByText("This browser has kept the draft").waitFor();
  await diff.getByRole("row", { name: /added title: A rule on trial for now/ }).waitFor();
  await axeBoth(page);
  await page.getByRole("button", { name: "Discard the draft" }).click();
  await page.getByText("The draft is discarded").waitFor();
  await page.reload();
  await page.getByText("This is the text that runs.").waitFor();
});

test("a draft is told that its file has changed meanwhile, and stays as it is", async () => {
  const { page } = await shared.open("/rules/on-trial?tab=draft");
  const text = page.getByRole("textbox", { name: "Draft of the rule, in YAML" });
  await text.getByText("A rule on trial").click();
  await page.keyboard.press("End");
  await page.keyboard.type(" for now");
  await page.getByText("This browser keeps the draft.").waitFor();
  await page.route("**/api/v1/rules/on-trial/source", async (route) => {
    const answer = await route.fetch();
    const source = (await answer.json()) as { text: string };
    await route.fulfill({ json: { ...source, text: source.text.replace("n > 0", "n > 5") } });
  });
  await page.reload();
  const moved = page.getByRole("region", { name: /has changed since this draft was begun/ });
  await moved.getByText("What has changed in the file").click();
  await moved.getByRole("row", { name: /added when: n > 5/ }).waitFor();
  await axeBoth(page);
  await moved.getByRole("button", { name: "Keep the draft as it is" }).click();
  await moved.waitFor({ state: "detached" });
  expect(await text.innerText()).toContain("A rule on trial for now");
  await page.getByRole("button", { name: "Discard the draft" }).click();
  await until(async () => !(await text.innerText()).includes("for now"), "the running text");
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await text.innerText()).includes("for now"), "the draft to be back");
});

test("the editor completes fields and values, and marks problems while somebody types", async () => {
  const { page } = await shared.open("/rules/on-trial?tab=draft");
  const text = page.getByRole("textbox", { name: "Draft of the rule, in YAML" });
  await text.getByText("n > 0").click();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.keyboard.type("no_d");
  const options = page.getByRole("listbox");
  await options.getByRole("option", { name: /^no_data/ }).waitFor();
  await axeBoth(page);
  await page.keyboard.press("Enter");
  await expect.poll(() => text.innerText()).toContain("no_data: ");
  await page.keyboard.press("Control+ ");
  await options.getByRole("option", { name: /^keep_last/ }).click();
  await page.getByRole("status").getByText("No problems").waitFor();
  await page.keyboard.type("s");
  await page.getByRole("status").getByText("1 problem").waitFor();
  await page.locator(".cm-lintRange-error", { hasText: "keep_lasts" }).waitFor();
  const audit = await shared.server.call<{ changes: { action: string }[] }>(
    "GET",
    "/api/v1/audit?action=rule.draft&object=rule:on-trial",
  );
  const tries = audit.changes.length;
  expect(tries).toBeLessThanOrEqual(2); // those of the other tests: a check leaves no record
});

test("findings and the editor stand above the fold", async () => {
  const { page } = await shared.open("/rules/negative-bin-stock?scope=119240", {
    viewport: { width: 1440, height: 900 },
  });
  const top = async (target: Locator) => (await target.boundingBox())?.y ?? Infinity;
  const panel = page.getByRole("tabpanel", { name: "Findings" });
  await panel.waitFor();
  expect(await top(panel)).toBeLessThan(450);
  const facts = page.getByRole("region", { name: "Facts" });
  expect((await facts.boundingBox())?.x).toBeGreaterThan(1000);
  await page.getByRole("tab", { name: "Draft" }).click();
  const editor = page.getByTestId("code");
  await editor.waitFor();
  expect(await top(editor)).toBeLessThan(450);
  const half = await editor.boundingBox();
  expect(half?.width).toBeGreaterThan(480);
});
