import { expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeBoth, consoleFixture } from "../support/console";

const shared = consoleFixture();

const waits = {
  hash: "5f2a9c0d1e3b4a67",
  since: "2026-06-01T08:00:00Z",
  added: 1,
  removed: 2,
  removing: [{ type: "REP_NOTICE", warehouse: "*", subscriber: "user:ann", origin: "wms" }],
};
const wms = {
  name: "wms",
  configured: true,
  subscriptions: 3,
  asked: "2026-06-01T08:00:00Z",
  answered: "2026-06-01T08:00:00Z",
};

/** Answers for a source that the test's server does not have. */
const answer = (page: Page, origin: object) =>
  page.route("**/api/v1/subscriptions/origins", (route) => route.fulfill({ json: { origins: [origin] } }));

test("a list that waits is shown, and exactly that list is confirmed", async () => {
  const { page } = await shared.open("/types");
  await answer(page, { ...wms, error: "row 3: warehouse is NULL", waits });
  const sent: unknown[] = [];
  await page.route("**/api/v1/subscriptions/origins/wms/confirm", (route) => {
    sent.push(route.request().postDataJSON());
    return route.fulfill({ json: { added: 1, removed: 2 } });
  });
  await page.goto(`${shared.server.address}/subscriptions`);
  await page.getByText("row 3: warehouse is NULL").waitFor();
  await page.getByText("A list of the source wms would remove 2 of 3 subscriptions and add 1.").waitFor();
  await page.getByText("What the list removes").click();
  await page.getByText("REP_NOTICE * user:ann").waitFor();
  await page.getByText("and 1 more").waitFor();
  await axeBoth(page);
  await page.getByRole("button", { name: "Take the list" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Take the list" }).click();
  await page.getByText("2 subscriptions were removed, 1 added").waitFor();
  expect(sent).toEqual([{ hash: waits.hash }]);
});

test("what comes from a source is not changed by hand", async () => {
  const { page } = await shared.open("/types");
  await answer(page, wms);
  await page.route("**/api/v1/subscriptions?*", (route) =>
    route.fulfill({
      json: {
        subscriptions: [{ type: "REP_NOTICE", warehouse: "*", subscriber: "user:ann", origin: "wms" }],
      },
    }),
  );
  await page.goto(`${shared.server.address}/subscriptions?tab=list`);
  const row = page.getByRole("row").filter({ hasText: "user:ann" });
  await row.getByText("wms", { exact: true }).waitFor();
  expect(await row.getByRole("button").count()).toBe(0);
  await page.goto(`${shared.server.address}/subscriptions`);
  await page
    .getByLabel(/user:ann|ann: subscribed/)
    .first()
    .click();
  await page.getByText("The subscription comes from the source wms").waitFor();
});

test("subscriptions of a source that is not configured are released", async () => {
  const { page } = await shared.open("/types");
  await answer(page, { ...wms, configured: false });
  await page.route("**/api/v1/subscriptions/origins/wms/release", (route) =>
    route.fulfill({ json: { released: 3 } }),
  );
  await page.goto(`${shared.server.address}/subscriptions`);
  await page.getByText("which the configuration does not name any more").waitFor();
  await page.getByRole("button", { name: "Let people change them" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Let people change them" }).click();
  await page.getByText("3 subscriptions count as made by hand now").waitFor();
});
