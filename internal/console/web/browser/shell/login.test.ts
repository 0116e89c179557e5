import { createHmac } from "node:crypto";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";

const key = "a key that only the tests and the server know";
const shared = consoleFixture({
  auth: `{mode: token, jwt: {secret: "${key}", audience: tallyman, access: [viewer], claims: {warehouses: warehouses}}}`,
});

const loginForm = (page: Page) => page.getByRole("heading", { name: "Log in" });
const links = (page: Page) =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link").allInnerTexts();

/** A JWT as an identity provider signs it (HS256). */
function jwt(subject: string): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + 600;
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: subject, aud: "tallyman", exp, warehouses: ["119240"] })}`;
  return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`;
}

async function login(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
}

test("a wrong token is refused, the right one leads to the page that was asked for", async () => {
  const { page, faults } = await shared.open("/types", { token: "" });
  faults.expect(/status of 401/);
  await loginForm(page).waitFor();
  await axeBoth(page);
  await page.keyboard.type("tm_wrong"); // the focus is in the one field
  await page.keyboard.press("Enter");
  await page.getByText("The server does not accept this token.").waitFor();
  await expect.poll(() => page.getByLabel("Token").getAttribute("aria-invalid")).toBe("true");
  await login(page, ` ${shared.server.admin}\n`); // as it is pasted
  await page.getByRole("heading", { name: "Types" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/types");
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(shared.server.admin);
});

test("a JWT of the identity provider logs in, too", async () => {
  const { page, faults } = await shared.open("/types", { token: "" });
  faults.expect(/status of 401/);
  await loginForm(page).waitFor();
  await login(page, jwt("ann"));
  await page.getByRole("button", { name: "Account: user:ann" }).click();
  await page.getByText("Roles: viewer").waitFor();
  await page.getByText("Warehouses: 119240").waitFor();
  await page.getByText("Token expires").waitFor();
});

test("a token that is revoked while somebody works leads to the login, and from there back", async () => {
  const token = await shared.server.token({ subject: "user:rex", access: ["operator"] });
  const { page, faults } = await shared.open("/types?q=lot", { token });
  faults.expect(/status of 401/, /ERR_INCOMPLETE_CHUNKED/);
  await page.getByText("Lot near expiry").waitFor();
  const { tokens } = await shared.server.call<{ tokens: { id: string; subject: string }[] }>(
    "GET",
    "/api/v1/tokens",
  );
  const id = tokens.find((each) => each.subject === "user:rex")?.id;
  await shared.server.call("POST", `/api/v1/tokens/${id}/revoke`);
  await loginForm(page).waitFor(); // by itself: the stream ends
  await page.getByText("Your token has expired or was revoked.").waitFor();
  await login(page, shared.server.admin);
  await page.getByText("Lot near expiry").waitFor();
  expect(new URL(page.url()).searchParams.get("q")).toBe("lot");
});

test("a token that expires leads to the login", async () => {
  const made = await shared.server.call<{ secret: string }>("POST", "/api/v1/tokens", {
    subject: "user:eph",
    access: ["viewer"],
    expires: "6s",
  });
  const { page, faults } = await shared.open("/types", { token: made.secret });
  faults.expect(/status of 401/, /ERR_INCOMPLETE_CHUNKED/);
  await page.getByText("Your token has expired or was revoked.").waitFor();
});

test("who logs out is out, also after a reload", async () => {
  const { page, faults } = await shared.open("/types");
  faults.expect(/status of 401/);
  await page.getByRole("button", { name: "Account: user:root" }).click();
  await page.getByRole("button", { name: "Log out" }).click();
  await loginForm(page).waitFor();
  await expect.poll(() => page.getByText("Your token has expired or was revoked.").count()).toBe(0);
  await page.reload();
  await loginForm(page).waitFor();
  expect(await page.evaluate(() => sessionStorage.getItem("tallyman.token"))).toBe(null);
});

test("the roles decide which pages there are, and where one begins", async () => {
  const admin = await shared.open("/");
  await admin.page.getByRole("link", { name: "Tokens" }).waitFor();
  expect(await links(admin.page)).toHaveLength(10);

  const viewer = await shared.server.token({ subject: "user:vic", access: ["viewer"] });
  const looking = await shared.open("/types", { token: viewer });
  await looking.page.getByRole("link", { name: "Audit" }).waitFor();
  expect(await links(looking.page)).not.toContain("Tokens");

  const token = await shared.server.token({ subject: "service:robot", access: ["worker"] });
  const { page, faults } = await shared.open("/", { token });
  faults.expect(/status of 403/);
  await page.waitForURL("**/queues");
  expect((await links(page)).map((text) => text.trim())).toEqual(["Queues", "Types"]);
  await page.getByText("Every 10 seconds").waitFor();
  await page.goto(`${shared.server.address}/tokens`);
  await page.getByText("Your token may not see this").waitFor();
  await until(async () => (await links(page)).length === 2, "the same two pages");
});

test("the login speaks Chinese and fits a handheld", async () => {
  const { page, faults } = await shared.open("/", { ...handheld, locale: "zh", token: "" });
  faults.expect(/status of 401/);
  await page.getByRole("heading", { name: "登录" }).waitFor();
  await axeBoth(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await page.getByRole("button", { name: "语言 · 颜色" }).click();
  await page.getByLabel("语言", { exact: true }).selectOption("en");
  await loginForm(page).waitFor();
});
