import { expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeBoth, consoleFixture } from "../support/console";

const shared = consoleFixture();

const waits = {
  hash: "5f2a9c0d1e3b4a67",
  since: "2026-06-01T08:00:00Z",
  scopes: 1,
  added: 0,
  changed: 1,
  removed: 2,
  removing: ["119240"],
};
const low = { rule: "low-stock", source: "wms", listed: true, scopes: 3, answered: "2026-06-01T08:00:00Z" };

/** Answers for rules that the test's server does not have. */
const answer = (page: Page, ...origins: object[]) =>
  page.route("**/api/v1/scopes", (route) => route.fulfill({ json: { origins } }));

test("a list of scopes that waits is shown, and exactly that list is confirmed", async () => {
  const { page } = await shared.open("/types");
  await answer(page, { ...low, error: "row 3: name is NULL", waits }, { ...low, rule: "well" });
  const sent: unknown[] = [];
  await page.route("**/api/v1/scopes/low-stock/confirm", (route) => {
    sent.push(route.request().postDataJSON());
    return route.fulfill({ json: { added: 0, changed: 1, removed: 2 } });
  });
  await page.goto(`${shared.server.address}/rules`);
  const card = page.getByRole("region", { name: "Scopes from queries" });
  await card.getByText("row 3: name is NULL").waitFor();
  await card.getByText("A list of 1 scopes would remove 2 of 3, add 0 and change 1.").waitFor();
  expect(await card.getByText("well", { exact: true }).count()).toBe(0);
  await card.getByText("What the list removes").click();
  await card.getByText(/119240\s+and 1 more/).waitFor();
  await axeBoth(page);
  await card.getByRole("button", { name: "Take the list" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Take the list" }).click();
  await page.getByText("2 scopes were removed, 0 added, 1 changed").waitFor();
  expect(sent).toEqual([{ hash: waits.hash }]);
});

test("a rule without a list waits, and a list without a query is forgotten", async () => {
  const { page } = await shared.open("/types");
  await answer(page, { rule: "new", source: "wms", listed: false, scopes: 0 }, { ...low, source: undefined });
  let forgotten = 0;
  await page.route("**/api/v1/scopes/low-stock", (route) => {
    forgotten++;
    return route.fulfill({ status: 204 });
  });
  await page.goto(`${shared.server.address}/rules`);
  await page.getByText("The rule does not run: its query has not given a list").waitFor();
  await page.getByRole("button", { name: "Forget the list" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Forget the list" }).click();
  await page.getByText("The list of scopes of low-stock is forgotten").waitFor();
  expect(forgotten).toBe(1);
});
