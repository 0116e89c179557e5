import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { axeBoth, consoleFixture } from "../support/console";
import { until } from "../support/until";
import { item, lease, push, site } from "./site";

const shared = consoleFixture(site);

/** Presses the action of an item's page, agrees, and waits for what is said then. */
async function act(page: Page, action: string, said: string): Promise<void> {
  await page.reload(); // what was done to the item meanwhile is there at once
  await page.getByRole("button", { name: action, exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This cannot be undone.").waitFor();
  await dialog.getByRole("button", { name: action, exact: true }).click();
  await page.getByText(said).waitFor();
}

test("what a worker has is kept longer, taken back, failed, and what is put away is brought back and finished", async () => {
  const now = () => item(shared.server, "returns", "walk");
  await push(shared.server, "returns", ["walk"]);
  await lease(shared.server, "returns", "bob");
  const { page } = await shared.open("/queues/returns/items/walk");

  await act(page, "Extend", "1 lease extended");
  expect(await now()).toMatchObject({ state: "leased", worker: "user:root/bob" });
  await act(page, "Take back", "1 item taken back");
  expect(await now()).toMatchObject({ state: "ready", failures: 0 });

  await lease(shared.server, "returns", "ann");
  await act(page, "Fail", "1 attempt failed");
  expect(await now()).toMatchObject({ failures: 1 });

  await shared.server.call("POST", "/api/v1/queues/returns/items/walk/store", { days: 2 });
  await act(page, "Bring back", "1 item is ready again");
  await until(async () => (await now()).state === "ready", "the end of a store that ends at once");
  await act(page, "Finish", "1 item finished");
  expect(await now()).toMatchObject({ state: "done" });
});

test("a dead item is requeued from its page", async () => {
  await push(shared.server, "picking", ["dead"]);
  const { attempt } = await lease(shared.server, "picking", "bob");
  await shared.server.call("POST", "/api/v1/queues/picking/items/dead/nack", { attempt });
  const { page } = await shared.open("/queues/picking/items/dead");
  await page.getByRole("button", { name: "Requeue" }).waitFor();
  await act(page, "Requeue", "1 item requeued");
  expect(await item(shared.server, "picking", "dead")).toMatchObject({ state: "ready", failures: 0 });
});

test("an item is given another place, that is undone, and its trace tells of both and of its next life", async () => {
  const now = () => item(shared.server, "returns", "WO-1");
  await push(shared.server, "returns", ["WO-1"]);
  const { page } = await shared.open("/queues/returns/items/WO-1");
  await page.getByRole("button", { name: "Set priority", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await expect
    .poll(() => dialog.getByRole("button", { name: "Set priority", exact: true }).isDisabled())
    .toBe(true);
  await dialog.getByLabel("Priority").selectOption("5");
  await dialog.getByLabel("Order").fill("7.5");
  await dialog.getByLabel("Why").fill("a lorry waits");
  await axeBoth(page);
  await dialog.getByRole("button", { name: "Set priority", exact: true }).click();
  await page.getByText("1 item has another place").waitFor();
  expect(await now()).toMatchObject({ priority: 5, order: "7.5" });
  await page.getByText("Priority 5 · order 7.5").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => (await now()).priority === 3 && !(await now()).order, "the undo");

  await act(page, "Finish", "1 item finished");
  const again = { items: [{ id: "WO-1", payload: { bin: "two" }, again: true }] };
  await shared.server.call("POST", "/api/v1/queues/returns/items", again);
  await page.reload();
  await page.getByText("Pushed again → Ready").waitFor();
});
