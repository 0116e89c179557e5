import { expect, test } from "vitest";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";

const shared = consoleFixture();

interface Type {
  code: string;
  id: number;
  name: string;
  names?: Record<string, string>;
  retention?: string;
  fields?: Record<string, { type: string; required?: boolean }>;
}
const types = async () => (await shared.server.call<{ types: Type[] }>("GET", "/api/v1/types")).types;
const typeOf = async (code: string) => (await types()).find((type) => type.code === code);

test("the catalogue is listed, searched and filtered, and the address keeps what was asked", async () => {
  const { page } = await shared.open("/types");
  const rows = page.getByRole("table", { name: "Types" }).getByRole("row");
  await page.getByText("Replenishment notice").waitFor();
  await axeBoth(page);
  await page.keyboard.press("/");
  await page.keyboard.type("lot");
  await rows.filter({ hasText: "Lot near expiry" }).waitFor();
  await until(async () => (await rows.count()) === 2, "one row below the titles");
  expect(new URL(page.url()).searchParams.get("q")).toBe("lot");
  await page.getByLabel("Category").selectOption("SYSTEM");
  await page.getByText("Nothing matches these filters").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await rows.filter({ hasText: "Replenishment notice" }).waitFor();
  expect(new URL(page.url()).search).toBe("");
});

test("a type is made, and what the server says of a field stands there", async () => {
  const { page, faults } = await shared.open("/types");
  faults.expect(/status of 422/);
  await page.getByRole("button", { name: "New type" }).click();
  const dialog = page.getByRole("dialog", { name: "New type" });
  await page.keyboard.type("late truck"); // the dialog begins at its first field
  await dialog.getByLabel("Id").fill("99");
  await dialog.getByLabel("Name", { exact: true }).fill("Late truck");
  await dialog.getByLabel("Name in Chinese").fill("卡车晚点");
  await dialog.getByLabel("Retention").fill("soon");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText(/expected string to match pattern/).waitFor();
  const code = dialog.getByLabel("Code");
  await expect.poll(() => code.getAttribute("aria-invalid")).toBe("true");
  await code.fill("LATE_TRUCK");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText(/a duration is numbers with the units/).waitFor();
  await dialog.getByLabel("Retention").fill("2d");
  await dialog.getByRole("button", { name: "Add a field" }).click();
  await page.keyboard.type("gate"); // the focus is in the new field
  await dialog.getByLabel("Field 1 is required").check();
  await dialog.getByRole("button", { name: "Add a field" }).click();
  await page.keyboard.type("gate");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("Two fields have the name gate.").first().waitFor();
  await dialog.getByLabel("Name of field 2").fill("minutes");
  await dialog.getByLabel("Type of field 2").selectOption("int");
  await axeBoth(page);
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.getByText("Type LATE_TRUCK was created").waitFor();
  expect(await typeOf("LATE_TRUCK")).toEqual({
    code: "LATE_TRUCK",
    id: 99,
    name: "Late truck",
    names: { zh: "卡车晚点" },
    retention: "48h",
    fields: { gate: { type: "string", required: true }, minutes: { type: "int" } },
  });
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => !(await typeOf("LATE_TRUCK")), "the type to be gone");
});

test("a code that is there already is refused in the server's words", async () => {
  const { page, faults } = await shared.open("/types");
  faults.expect(/status of 409/);
  await page.getByRole("button", { name: "New type" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Code").fill("REP_NOTICE");
  await dialog.getByLabel("Id").fill("5");
  await dialog.getByLabel("Name", { exact: true }).fill("x");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("type REP_NOTICE exists already; PUT replaces it").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
});

test("a type is changed, and changed back", async () => {
  const before = await typeOf("WAVE_STUCK");
  const { page } = await shared.open("/types");
  await page.getByRole("button", { name: "Edit WAVE_STUCK" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit WAVE_STUCK" });
  await dialog.getByLabel("Name", { exact: true }).fill("Wave stands still");
  await dialog.getByRole("button", { name: "Remove the field since" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("Type WAVE_STUCK was saved").waitFor();
  await page.getByText("Wave stands still").waitFor();
  const saved = await typeOf("WAVE_STUCK");
  expect(saved).toEqual({
    ...before,
    name: "Wave stands still",
    fields: { wave: { type: "string", required: true } },
  });
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await typeOf("WAVE_STUCK"))?.name === before?.name, "the old name");
  expect(await typeOf("WAVE_STUCK")).toEqual(before);
});

test("what its notices say is written, checked against the fields, and shown in the list", async () => {
  const { page, faults } = await shared.open("/types");
  faults.expect(/status of 422/);
  await page.getByRole("button", { name: "Edit LOT_EXPIRY" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit LOT_EXPIRY" });
  const title = dialog.getByLabel("Title in English");
  await title.fill("Lot {{ .lto }} expires");
  await dialog.getByLabel("Text", { exact: true }).fill("{{ .sku }}");
  await dialog.getByLabel("Priority").selectOption("4");
  await dialog.getByLabel("Labels").fill("area=stock");
  await dialog.getByLabel("Sinks").fill("inbox,delay=10m");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText(/the type has no field "lto": did you mean "lot"/).waitFor();
  await dialog.getByText(/delay belongs to strategy delayed/).waitFor();
  await expect.poll(() => title.getAttribute("aria-invalid")).toBe("true");
  await axeBoth(page);
  await title.fill("Lot {{ .lot }} expires");
  await dialog.getByLabel("Sinks").fill("inbox");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("Lot {{ .lot }} expires").waitFor();
  expect(await typeOf("LOT_EXPIRY")).toMatchObject({
    title: { en: "Lot {{ .lot }} expires" },
    body: { "": "{{ .sku }}" },
    priority: 4,
    labels: { area: "stock" },
    deliver: [{ sink: "inbox" }],
  });
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => !((await typeOf("LOT_EXPIRY")) as { title?: object }).title, "the type as it was");
});

test("removing says how many subscriptions go with it, and undo brings both back", async () => {
  const list = ["user:ann", "role:keeper"].map((subscriber) => ({
    type: "COUNT_DIFF",
    warehouse: "119240",
    subscriber,
  }));
  await shared.server.call("POST", "/api/v1/subscriptions/import", { subscriptions: list });
  const subscribed = async () =>
    (
      await shared.server.call<{ subscriptions: { subscriber: string }[] }>(
        "GET",
        "/api/v1/subscriptions?type=COUNT_DIFF",
      )
    ).subscriptions;
  const before = [await typeOf("COUNT_DIFF"), await subscribed()];
  const { page } = await shared.open("/types");
  await page.getByRole("button", { name: "Remove COUNT_DIFF" }).click();
  const question = page.getByRole("dialog", { name: "Remove COUNT_DIFF?" });
  await question.getByText("2 subscriptions to this type are removed, too.").waitFor();
  await question.getByText("You can undo this right afterwards.").waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  expect(await typeOf("COUNT_DIFF")).toBeDefined();
  await page.getByRole("button", { name: "Remove COUNT_DIFF" }).click();
  await question.getByRole("button", { name: "Remove" }).click();
  await page.getByText("Type COUNT_DIFF was removed").waitFor();
  expect([await typeOf("COUNT_DIFF"), await subscribed()]).toEqual([undefined, []]);
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await subscribed()).length === 2, "the subscriptions to be back");
  expect([await typeOf("COUNT_DIFF"), await subscribed()]).toEqual(before);
});

test("Tallyman's own types and a viewer's page have nothing to press", async () => {
  const admin = await shared.open("/types");
  await admin.page.getByText("TALLYMAN_NO_DATA").waitFor();
  expect(await admin.page.getByRole("button", { name: /TALLYMAN_/ }).count()).toBe(0);
  const token = await shared.server.token({ subject: "user:vic", access: ["viewer"] });
  const { page } = await shared.open("/types", { token });
  await page.getByText("Replenishment notice").waitFor();
  expect(await page.getByRole("button", { name: /^(Edit|Remove|New type)/ }).count()).toBe(0);
});

test("a handheld in Chinese shows cards with the Chinese names", async () => {
  const { page } = await shared.open("/types", { ...handheld, locale: "zh" });
  await page.getByText("盘点差异").waitFor();
  await axeBoth(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await page.getByRole("button", { name: "编辑 COUNT_DIFF" }).click();
  await page.getByRole("dialog", { name: "编辑 COUNT_DIFF" }).getByLabel("名称（中文）").waitFor();
  await axeBoth(page);
});
