import { expect, test } from "vitest";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";

const shared = consoleFixture();

interface Token {
  id: string;
  name: string;
  subject: string;
  access: string[];
  warehouses: string[];
  subscribers?: string[];
  expires?: string;
  state: string;
}
const tokens = async () =>
  (await shared.server.call<{ tokens: Token[] }>("GET", "/api/v1/tokens?ended=true")).tokens;
const named = async (name: string) => (await tokens()).find((token) => token.name === name);
const status = async (secret: string) =>
  (await fetch(`${shared.server.address}/api/v1/me`, { headers: { Authorization: `Bearer ${secret}` } }))
    .status;

test("a token is made, and its secret is shown once", async () => {
  const { page, context, faults } = await shared.open("/tokens");
  faults.expect(/status of 422/);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("row").filter({ hasText: "user:root" }).waitFor();
  await axeBoth(page);
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog");
  await page.keyboard.type("wms"); // the dialog begins at its first field
  await dialog.getByLabel("Name").fill("Handhelds");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("Choose what the token may do.").waitFor();
  await dialog.getByRole("checkbox", { name: /^client/ }).check();
  await dialog.getByLabel("Warehouses").fill("119240, 119241");
  await dialog.getByLabel("Subscribers").fill("role:keeper");
  await dialog.getByRole("button", { name: "Create" }).click();
  await until(
    async () => (await dialog.getByLabel("Subject").getAttribute("aria-invalid")) === "true",
    "the subject to be refused",
  );
  await axeBoth(page);
  await dialog.getByLabel("Subject").fill("user:wms");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("The secret is shown only now").waitFor();
  const secret = await dialog.getByLabel("Secret", { exact: true }).inputValue();
  const selected = () => page.evaluate(() => (document.activeElement as HTMLInputElement).value);
  expect(await selected()).toBe(secret); // the keyboard goes on here
  await axeBoth(page);
  expect(await status(secret)).toBe(200);
  const made = await named("Handhelds");
  expect(made).toMatchObject({
    subject: "user:wms",
    access: ["client"],
    warehouses: ["119240", "119241"],
    state: "live",
  });
  expect(made?.subscribers).toContain("role:keeper");
  const life = Date.parse(made?.expires ?? "") - Date.now();
  expect(Math.round(life / 86_400_000)).toBe(90);

  await dialog.getByRole("button", { name: "Copy the secret" }).click();
  await until(
    async () => (await page.evaluate(() => navigator.clipboard.readText())) === secret,
    "the secret in the clipboard",
  );
  await dialog.getByRole("button", { name: "I have copied it" }).click();
  await dialog.waitFor({ state: "hidden" });
  await page.getByText("Handhelds").waitFor();
  expect(await page.content()).not.toContain(secret);
  await page.getByRole("button", { name: "New token" }).click();
  await dialog.getByRole("button", { name: "Create" }).waitFor(); // and no secret
});

test("a token that is revoked is refused, and stands among those that have ended", async () => {
  const secret = await shared.server.token({ subject: "service:erp", access: ["producer"] });
  const { page } = await shared.open("/tokens");
  await page.setViewportSize({ width: 1024, height: 700 });
  const revoke = page.getByRole("button", { name: "Revoke service:erp" });
  const box = await revoke.boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThan(1024);
  await revoke.click();
  const question = page.getByRole("dialog", { name: "Revoke service:erp?" });
  await question.getByText("This cannot be undone.").waitFor();
  expect(await question.getByText("you will be logged out").count()).toBe(0);
  await question.getByRole("button", { name: "Cancel" }).click();
  expect(await status(secret)).toBe(200);
  await page.getByRole("button", { name: "Revoke service:erp" }).click();
  await question.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("service:erp was revoked").waitFor();
  expect(await status(secret)).toBe(401);
  await page.getByLabel("State").selectOption("ended");
  const row = page.getByRole("row").filter({ hasText: "service:erp" });
  await row.getByText("revoked").waitFor();
  expect(await row.getByRole("button").count()).toBe(0);
  await page.getByRole("searchbox").fill("nobody");
  await page.getByText("Nothing matches these filters").waitFor();
});

test("whoever revokes his own token is told so, and is logged out", async () => {
  const token = await shared.server.token({ subject: "user:eve", access: ["admin"] });
  const { page, faults } = await shared.open("/tokens", { token });
  faults.expect(/status of 401/, /status of 409/);
  const row = page.getByRole("row").filter({ hasText: "user:eve" });
  await row.getByText("yours").waitFor();
  await row.getByRole("button", { name: "Revoke user:eve" }).click();
  const question = page.getByRole("dialog");
  await question.getByRole("button", { name: "Revoke" }).click();
  await question.getByText("you will be logged out").waitFor();
  await question.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await page.getByText("Your token has expired or was revoked.").waitFor();
  expect(await status(token)).toBe(401);
});

test("an operator who types the address is told that he may not see it", async () => {
  const token = await shared.server.token({ subject: "user:olga", access: ["operator"] });
  const { page, faults } = await shared.open("/tokens", { token });
  faults.expect(/status of 403/);
  await page.getByText("Your token may not see this").waitFor();
  await page.getByText("the operation needs the role admin").waitFor();
  expect(await page.getByRole("button", { name: "New token" }).count()).toBe(0);
  expect(await page.getByRole("link", { name: "Tokens" }).count()).toBe(0);
});

test("a handheld in Chinese: cards, and a dialog that fits", async () => {
  const { page } = await shared.open("/tokens?q=root", { ...handheld, locale: "zh" });
  await page.getByRole("row").filter({ hasText: "user:root" }).waitFor();
  await axeBoth(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  await page.getByRole("button", { name: "新建令牌" }).click();
  await page.getByRole("dialog").getByText("轮询、阅读和确认自己及所属角色的通知").waitFor();
  await axeBoth(page);
});
