import { expect, test } from "vitest";
import { axeBoth, consoleFixture } from "../support/console";
import { Demo } from "../support/demo";

const shared = consoleFixture();

test("the sign is live, says when the server goes away, and is live again when it is back", async () => {
  const { page, faults } = await shared.open("/types");
  faults.expect(/ERR_/, /status of 50/);
  const sign = page.locator("header [role=status]");
  await sign.getByText("Live").waitFor();
  const shown = page.getByText("Stock count difference");
  await shown.waitFor();
  await shared.server.down();
  await sign.getByText("Reconnecting…").waitFor();
  expect(await shown.isVisible()).toBe(true); // what was shown stays
  await page.getByRole("link", { name: "Tokens" }).click();
  await page.getByRole("alert").getByText("This page cannot be loaded").waitFor();
  await axeBoth(page);
  await shared.server.up();
  await sign.getByText("Live").waitFor();
  await page.getByRole("row").filter({ hasText: "user:root" }).waitFor(); // by itself
});

test("a page whose data cannot be had says so, and has them when the server is back", async () => {
  const { page, faults } = await shared.open("/types");
  faults.expect(/ERR_/);
  await page.getByText("Stock count difference").waitFor();
  await page.getByRole("link", { name: "Tokens" }).click();
  await page.getByRole("row").filter({ hasText: "user:root" }).waitFor();
  await page.route("**/api/v1/types", (route) => route.abort());
  await page.getByRole("link", { name: "Types" }).click();
  await page.getByRole("alert").getByText("The server cannot be reached").waitFor();
  await axeBoth(page);
  await page.unroute("**/api/v1/types");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Stock count difference").waitFor();
});

test("a browser without a network is offline, and does not wait when it is back", async () => {
  const { page, context, faults } = await shared.open("/types");
  faults.expect(/ERR_/);
  const sign = page.locator("header [role=status]");
  await sign.getByText("Live").waitFor();
  await context.setOffline(true);
  await sign.getByText("Offline").waitFor();
  await context.setOffline(false);
  await sign.getByText("Live").waitFor();
});

test("a server that cannot be reached at the start is waited for", async () => {
  const { page, faults } = await shared.open("/types", { token: "" });
  faults.expect(/ERR_/, /status of (401|503)/);
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await page.route("**/api/v1/me", (route) => route.abort());
  await page.reload();
  await page.getByText("This page tries again by itself.").waitFor();
  await axeBoth(page);
  await page.unroute("**/api/v1/me");
  await page.getByRole("heading", { name: "Log in" }).waitFor();
});

test("where the server asks for no token, nobody logs in or out", async () => {
  const demo = await Demo.start();
  try {
    const { page, faults } = await shared.open("/types", { token: "" });
    faults.expect(/status of 401/);
    await page.goto(`${demo.address}/types`);
    await page.getByText("Stock count difference").waitFor();
    await page.getByRole("button", { name: /^Account/ }).click();
    await page.getByText("The server asks for no token").waitFor();
    expect(await page.getByRole("button", { name: "Log out" }).count()).toBe(0);
    await page.goto("about:blank");
  } finally {
    await demo.stop();
  }
});
