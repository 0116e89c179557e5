import { expect, test } from "vitest";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";
import { item, lease, push, site } from "./site";

const shared = consoleFixture(site);
const queue = async (name: string) =>
  shared.server.call<{ paused: boolean; dead: number; ready: number }>("GET", `/api/v1/queues/${name}`);

test("queues show how full they are, are paused, and that is undone", async () => {
  await push(shared.server, "picking", ["depth-1", "depth-2"], { priority: 5 });
  const { page } = await shared.open("/queues");
  const card = page.getByRole("region", { name: "picking" });
  await card.getByRole("row", { name: /^5 .*2/ }).waitFor();
  await card.getByRole("link", { name: /Ready/ }).waitFor();
  await axeBoth(page);
  await page.getByRole("button", { name: "Pause picking" }).click();
  await card.getByText("Paused by user:root").waitFor();
  expect((await queue("picking")).paused).toBe(true);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Pause picking" }).waitFor();
  expect((await queue("picking")).paused).toBe(false);

  await page.getByLabel("Show the test twins").check();
  await page
    .getByRole("region", { name: "picking" })
    .getByRole("row", { name: /^5 .*0/ })
    .waitFor();
  expect(page.url()).toContain("test=true");
  await page.getByRole("link", { name: "picking", exact: true }).click();
  await page.getByRole("heading", { name: "picking · test twin" }).waitFor();
});

test("items are assigned to a worker, that is undone, and they are suspended and stored", async () => {
  await push(shared.server, "picking", ["one", "two"]);
  const { page } = await shared.open("/queues/picking");
  for (const id of ["one", "two"]) await page.getByLabel(`Select ${id}`).check();
  await page.getByText("2 selected").waitFor();
  await page.getByRole("button", { name: "Assign", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Worker").fill("anna");
  await dialog.getByText("You can undo this right afterwards.").waitFor();
  await axeBoth(page);
  await dialog.getByRole("button", { name: "Assign", exact: true }).click();
  await page.getByText("2 items assigned to anna").waitFor();
  expect((await item(shared.server, "picking", "two")).assignee).toBe("anna");
  await page.getByRole("button", { name: "Undo" }).click();
  await until(async () => !(await item(shared.server, "picking", "two")).assignee, "the undo");

  await page.getByLabel("Select one").check();
  await page.getByRole("button", { name: "Suspend", exact: true }).click();
  await dialog.getByLabel("Why").fill("after lunch");
  await dialog.getByText("This cannot be undone.").waitFor();
  await dialog.getByRole("button", { name: "Suspend", exact: true }).click();
  await page.getByText("1 item suspended").waitFor();
  expect(await item(shared.server, "picking", "one")).toMatchObject({ state: "suspended" });

  await page.getByRole("tab", { name: /Suspended/ }).click();
  await page
    .getByRole("row", { name: /bin one/ })
    .getByText(/1 hr 59 min|2 hrs/)
    .waitFor();
  await page.getByLabel("Select one").check();
  await page.getByRole("button", { name: "Suspend", exact: true }).click();
  await dialog.getByRole("button", { name: "Suspend", exact: true }).click();
  await dialog.getByText("the item was suspended as often as the queue allows").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Store", exact: true }).click();
  await dialog.getByLabel("Days").fill("3");
  await dialog.getByRole("button", { name: "Store", exact: true }).click();
  await page.getByText("1 item stored").waitFor();
  expect((await item(shared.server, "picking", "one")).state).toBe("stored");
});

test("what a worker has is removed by force alone, and the question says so", async () => {
  await push(shared.server, "returns", ["held"]);
  await lease(shared.server, "returns", "bob");
  const { page } = await shared.open("/queues/returns/items/held");
  await page.getByText("user:root/bob", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Remove" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("The item is taken away by force").waitFor();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("The item has ended").waitFor();
  const gone = await item(shared.server, "returns", "held");
  expect(gone.trace.map((move) => move.to)).toEqual(["ready", "leased", "removed"]);
  const trace = page.getByRole("region", { name: "Trace" });
  for (const step of ["Pushed → Ready", "Ready → Leased", "Leased → Removed"])
    await trace.getByText(step).waitFor();
  await axeBoth(page);
});

test("dead items are requeued, all at once", async () => {
  await push(shared.server, "picking", ["dead-1", "dead-2"], { priority: 5 });
  for (let dead = 0; dead < 2;) {
    const { id, attempt } = await lease(shared.server, "picking", "carl");
    const path = `/api/v1/queues/picking/items/${id}`;
    await shared.server.call("POST", `${path}/${id.startsWith("dead") ? "nack" : "ack"}`, { attempt });
    if (id.startsWith("dead")) dead++;
  }
  const { page } = await shared.open("/queues/picking?state=dead");
  await page.getByRole("row", { name: /bin dead-1/ }).waitFor();
  await page.getByRole("button", { name: "Requeue all dead" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("All 2 dead items of picking").waitFor();
  await dialog.getByRole("button", { name: "Requeue all dead" }).click();
  await page.getByText("2 items requeued").waitFor();
  await page.getByText("picking has no items in this state").waitFor();
  expect((await queue("picking")).dead).toBe(0);
});

test("a range is removed, told in figures", async () => {
  await push(shared.server, "returns", ["r1", "r2", "r3", "r4"]);
  const { page } = await shared.open("/queues/returns");
  await page.getByRole("row", { name: /bin r4/ }).waitFor();
  await page.getByRole("button", { name: "Remove a range" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("From rank").fill("2");
  await dialog.getByLabel("To rank").fill("9");
  await dialog.getByText("Two ranks from 1 to 4, the lower rank first.").waitFor();
  await dialog.getByLabel("To rank").fill("3");
  await dialog
    .getByText("This removes 2 items, ranks 2 to 3, of the 4 that are ready in returns now.")
    .waitFor();
  await dialog.getByRole("button", { name: "Remove 2 items" }).click();
  await page.getByText("2 items removed").waitFor();
  await page.getByRole("row", { name: /bin r2/ }).waitFor({ state: "detached" });
  expect((await item(shared.server, "returns", "r2")).state).toBe("removed");
  expect((await item(shared.server, "returns", "r4")).state).toBe("ready");
});

test("an item is pushed with its numbers as they are written, into the twin, and that is undone", async () => {
  const { page } = await shared.open("/queues/returns?test=true", { locale: "zh" });
  await page.getByRole("button", { name: "推入工作项" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("内容").fill("{bin: 1}");
  await dialog.getByText(/这不是有效的 JSON/).waitFor();
  await dialog.getByLabel("内容").fill('{"order": 12345678901234567890}');
  await dialog.getByLabel("优先级").selectOption("5");
  await dialog.getByLabel("ID", { exact: true }).fill("exact");
  await dialog.getByLabel("去重键").fill("k1");
  await dialog.getByRole("button", { name: "推入", exact: true }).click();
  await page.getByText("工作项 exact 已进入 returns").waitFor();
  const raw = await shared.server.call<object>("GET", "/api/v1/queues/returns/items/exact?test=true");
  expect(raw).toMatchObject({ priority: 5, state: "ready" });

  await page.getByRole("button", { name: "推入工作项" }).click();
  await dialog.getByLabel("去重键").fill("k1");
  await dialog.getByRole("button", { name: "推入", exact: true }).click();
  await dialog.getByRole("link", { name: "exact" }).waitFor();
  await axeBoth(page);
  await dialog.getByRole("link", { name: "exact" }).click();
  await page.getByText("12345678901234567890").first().waitFor();
  await page.getByRole("button", { name: "撤销" }).click();
  await until(
    async () => (await item(shared.server, "returns", "exact", true)).state === "removed",
    "the undo",
  );
});

test("a viewer looks and changes nothing; what is not there is said", async () => {
  await push(shared.server, "returns", ["seen"]);
  const token = await shared.server.token({ subject: "user:eve", access: ["viewer"] });
  const { page } = await shared.open("/queues/returns", { token, ...handheld });
  await page.getByRole("tab", { name: /^Ready/ }).scrollIntoViewIfNeeded();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight)); // what is far below is not drawn
  await page.getByText("bin seen").waitFor();
  await axeBoth(page);
  for (const name of ["Push an item", "Pause returns", "Remove a range"]) {
    expect(await page.getByRole("button", { name }).count()).toBe(0);
  }
  expect(await page.getByRole("checkbox", { name: /Select/ }).count()).toBe(0);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  await page.getByRole("tab", { name: /Stored/ }).click();
  await page.getByText("returns has no items in this state").waitFor();
  const lost = await shared.open("/queues/returns/items/nothing", { token });
  lost.faults.expect(/status of 404/);
  await lost.page.getByText("This is not there").waitFor();
});

test("depth by warehouse leads to the items of one, and a range counts in that", async () => {
  await push(shared.server, "returns", ["north-1", "north-2", "north-3"], { warehouse: "north" });
  await push(shared.server, "returns", ["south-1"], { warehouse: "south" });
  const { page } = await shared.open("/queues/returns");
  await page.getByRole("button", { name: "Figures and settings" }).click();
  const card = page.getByRole("table", { name: "Depth by warehouse" });
  await card.getByRole("row", { name: /^north 3 0 0 0$/ }).waitFor();
  await card.getByRole("link", { name: "north" }).click();
  await page.getByRole("link", { name: "bin north-3" }).waitFor();
  expect(await page.getByRole("link", { name: "bin south-1" }).count()).toBe(0);
  await page.getByRole("button", { name: "Remove a range" }).click();
  await page.getByRole("dialog").getByText("of the 3 that are ready in returns now").waitFor();
  await page.getByRole("button", { name: "Remove 3 items" }).click();
  await page.getByText("3 items removed").waitFor();
  expect(await item(shared.server, "returns", "south-1")).toMatchObject({ state: "ready" });
});
