import { expect, test } from "vitest";
import { axeBoth, consoleFixture } from "../support/console";
import { until } from "../support/until";
import { site } from "./site";

const shared = consoleFixture(site);
interface Settings {
  inForce: { lease: string; maxAttempts: number; suspendSteps: string[] };
  live: string[];
}
const settings = () => shared.server.call<Settings>("GET", "/api/v1/queues/picking/settings");

test("settings of a queue are changed in s, m, h, d, undone, and set back to the configuration", async () => {
  const { page } = await shared.open("/queues/picking");
  await page.getByRole("button", { name: "Figures and settings" }).click();
  const card = page.getByRole("region", { name: "Settings", exact: true });
  await card.getByText("1h", { exact: true }).waitFor();
  await card.getByText("Events to gateway").waitFor();
  await card.getByText("dead, done").waitFor();
  await card.getByRole("button", { name: "Change" }).click();
  const dialog = page.getByRole("dialog");
  const save = dialog.getByRole("button", { name: "Save" });
  expect(await save.isDisabled()).toBe(true);
  await dialog.getByLabel("Lease as the configuration says: 1h").uncheck();
  const lease = dialog.getByLabel("Lease", { exact: true });
  await lease.fill("2d");
  await dialog.getByText("A duration from 1s to 1d, such as 5m.").waitFor();
  expect(await save.isDisabled()).toBe(true);
  await axeBoth(page);
  await lease.fill("90m");
  await dialog.getByLabel("Failures until dead as the configuration says: 1").uncheck();
  await dialog.getByLabel("Failures until dead", { exact: true }).fill("");
  await dialog.getByLabel("Suspend steps as the configuration says: 2h").uncheck();
  await dialog.getByLabel("Suspend steps", { exact: true }).fill("30m, 1d");
  await save.click();
  await page.getByText("The settings of picking are changed").waitFor();
  await card.getByText("30m, 1d").waitFor();
  await card.getByText("never dead").waitFor();
  await card.getByText("Changed last by user:root").waitFor();
  expect(await settings()).toMatchObject({
    inForce: { lease: "1h30m", maxAttempts: 0, suspendSteps: ["30m", "24h"] },
    live: ["lease", "maxAttempts", "suspendSteps"],
  });
  await axeBoth(page);

  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await settings()).live.length === 0, "the undo");
  await card.getByText("2h", { exact: true }).waitFor();

  await shared.server.call("POST", "/api/v1/queues/picking/settings", { lease: "5m", suspendSteps: [] });
  await card.getByText(/^5m/).waitFor();
  await card.getByRole("button", { name: "Change" }).click();
  await dialog.getByLabel(/Lease as the configuration says/).check();
  await save.click();
  await until(async () => (await settings()).live.join() === "suspendSteps", "the way back of the lease");
});

test("a viewer sees the settings and cannot change them", async () => {
  const token = await shared.server.token({ subject: "user:eve", access: ["viewer"] });
  const { page } = await shared.open("/queues/picking", { token });
  await page.getByRole("button", { name: "Figures and settings" }).click();
  const card = page.getByRole("region", { name: "Settings", exact: true });
  await card.getByText("Asia/Shanghai").waitFor();
  expect(await card.getByRole("button").count()).toBe(0);
});
