import { expect, test } from "vitest";
import { axeBoth, consoleFixture } from "../support/console";
import { until } from "../support/until";

const shared = consoleFixture();

interface Subscription {
  type: string;
  warehouse: string;
  subscriber: string;
}
const path = "/api/v1/subscriptions";
const of = async (subscriber: string) =>
  (
    await shared.server.call<{ subscriptions: Subscription[] }>("GET", `${path}?subscriber=${subscriber}`)
  ).subscriptions.map(({ type, warehouse, subscriber }): Subscription => ({ type, warehouse, subscriber }));

test("the list is empty, is added to by a form, and undone", async () => {
  const { page, faults } = await shared.open("/subscriptions?tab=list");
  faults.expect(/status of 422/);
  await page.getByText("Nobody has subscribed to anything yet").waitFor();
  await page.getByRole("button", { name: "Add a subscription" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Add a subscription" });
  expect(await dialog.getByLabel("Warehouse").inputValue()).toBe("*");
  await dialog.getByLabel("Subscriber").selectOption("user");
  await dialog.getByLabel("Id").fill("a b");
  await dialog.getByLabel("Warehouse").fill("119240");
  await dialog.getByLabel("Type").selectOption("LOT_EXPIRY");
  await axeBoth(page);
  await page.keyboard.press("Tab");
  await dialog.getByRole("button", { name: "Add" }).click();
  await until(
    async () => (await dialog.getByLabel("Id").getAttribute("aria-invalid")) === "true",
    "the id to be refused at its field",
  );
  await dialog.getByLabel("Id").fill("bob");
  await dialog.getByLabel("Id").press("Enter");
  await page.getByText("user:bob gets LOT_EXPIRY in 119240").waitFor();
  const bob = { type: "LOT_EXPIRY", warehouse: "119240", subscriber: "user:bob" };
  expect(await of("user:bob")).toEqual([bob]);
  await page
    .getByRole("row")
    .filter({ hasText: "user:bob" })
    .getByText("no rule makes these notices")
    .waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await of("user:bob")).length === 0, "the subscription to be gone");
});

test("a subscription is found, removed and put back", async () => {
  const two = [
    { type: "REP_NOTICE", warehouse: "*", subscriber: "role:keeper" },
    { type: "WAVE_STUCK", warehouse: "119241", subscriber: "user:cy" },
  ];
  await shared.server.call("POST", `${path}/import`, { subscriptions: two });
  const { page } = await shared.open("/subscriptions?tab=list");
  const row = page.getByRole("row").filter({ hasText: "user:cy" });
  await row.waitFor();
  await axeBoth(page);
  await page.keyboard.press("/");
  await page.keyboard.type("wave without");
  await until(async () => (await page.getByRole("row").count()) === 2, "one row below the titles");
  await page.getByLabel("Warehouse", { exact: true }).selectOption("*");
  await page.getByText("Nothing matches these filters").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByLabel("Type", { exact: true }).selectOption("WAVE_STUCK");
  await row
    .getByRole("button", { name: "Remove the subscription of user:cy to WAVE_STUCK in 119241" })
    .click();
  await page.getByText("user:cy no longer gets WAVE_STUCK in 119241").waitFor();
  expect(await of("user:cy")).toEqual([]);
  await page.getByRole("button", { name: "Undo" }).click();
  await row.waitFor();
  expect(await of("user:cy")).toEqual([two[1]]);
});

test("a list is pasted, looked at and imported whole; what is wrong in it is told before", async () => {
  await shared.server.call("POST", path, { type: "REP_NOTICE", warehouse: "*", subscriber: "role:dock" });
  const { page } = await shared.open("/subscriptions");
  await page.getByRole("button", { name: "Import" }).click();
  const dialog = page.getByRole("dialog", { name: "Import subscriptions" });
  const list = dialog.getByLabel("List");
  await list.fill("REP_NOTICE,*,role:dock\nREP_NOTIC,*,role:dock\nREP_NOTICE,119240,dock");
  await dialog.getByText("Line 2: The catalogue has no type “REP_NOTIC”.").waitFor();
  await dialog.getByText("Line 3: “dock” is not a subscriber").waitFor();
  await expect.poll(() => dialog.getByRole("button", { name: "Import" }).isDisabled()).toBe(true);
  await list.fill(
    "type;warehouse;subscriber\nREP_NOTICE;*;role:dock\nORDER_LATE;*;role:dock\nREP_NOTICE;119240;role:dock",
  );
  await dialog.getByText("2 are new. 1 is there already.").waitFor();
  await axeBoth(page);
  await dialog.getByRole("button", { name: "Add 3 subscriptions" }).click();
  await page.getByText("2 subscriptions were added").waitFor();
  expect(await of("role:dock")).toHaveLength(3);
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await of("role:dock")).length === 1, "the two to be gone");
  expect((await of("role:dock"))[0]).toMatchObject({ type: "REP_NOTICE", warehouse: "*" });
});

test("a list that the server refuses adds nothing", async () => {
  const { page, faults } = await shared.open("/subscriptions");
  faults.expect(/status of 422/);
  await page.getByRole("button", { name: "Import" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("List").fill(`REP_NOTICE,*,user:zoe\nREP_NOTICE,${"w".repeat(300)},user:zoe`);
  await dialog.getByRole("button", { name: "Add 2 subscriptions" }).click();
  await dialog.getByRole("alert").waitFor();
  expect(await of("user:zoe")).toEqual([]);
});

test("the address book: an entry is made, changed, removed, and each taken back", async () => {
  const entry = async () =>
    shared.server
      .call<{ name?: string; language?: string; mail?: string[] }>("GET", "/api/v1/subscribers/user:ann")
      .catch(() => undefined);
  const { page, faults } = await shared.open("/subscriptions?tab=book");
  faults.expect(/status of 422/);
  await page.getByText("The address book is empty").waitFor();
  await axeBoth(page);
  await page.getByRole("button", { name: "New entry" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Subscriber").fill("user:ann");
  await dialog.getByLabel("Name").fill("Ann Lee");
  await dialog.getByLabel("Mail").fill("ann at example");
  await dialog.getByRole("button", { name: "Add" }).click();
  await until(
    async () => (await dialog.getByLabel("Mail").getAttribute("aria-invalid")) === "true",
    "the address to be refused at its field",
  );
  await dialog.getByLabel("Mail").fill("Ann Lee <ann@example.com>\nann@example.org\n");
  await dialog.getByLabel("Language").fill("zh");
  await axeBoth(page);
  await dialog.getByRole("button", { name: "Add" }).click();
  await page.getByText("user:ann was added to the address book").waitFor();
  const made = {
    id: "user:ann",
    name: "Ann Lee",
    language: "zh",
    mail: ["Ann Lee <ann@example.com>", "ann@example.org"],
  };
  expect(await entry()).toEqual(made);

  await page.getByRole("button", { name: "New entry" }).click();
  await dialog.getByLabel("Subscriber").fill("user:ann");
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByText("The address book has this entry already.").waitFor();
  await page.keyboard.press("Escape");
  expect(await entry()).toEqual(made);

  await page.getByRole("button", { name: "Edit user:ann" }).click();
  await dialog.getByLabel("Name").fill("Ann Li");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("user:ann was saved in the address book").waitFor();
  expect((await entry())?.name).toBe("Ann Li");
  await page.getByRole("button", { name: "Undo" }).last().click();
  await until(async () => (await entry())?.name === "Ann Lee", "the old name");

  await page.getByRole("button", { name: "Remove user:ann" }).click();
  await page.getByText("user:ann was removed from the address book").waitFor();
  expect(await entry()).toBeUndefined();
  await page.getByRole("button", { name: "Undo" }).last().click();
  await until(async () => (await entry()) !== undefined, "the entry to be back");
  expect(await entry()).toEqual(made);
});
