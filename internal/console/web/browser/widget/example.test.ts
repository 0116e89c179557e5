import { expect, test } from "vitest";
import { axe } from "../support/page";
import { fixture, Widget } from "./fixture";

const shared = fixture();

test("the example signs in, and takes notices of its bins for itself", async () => {
  const token = await shared.server.token({ subject: "user:ann", warehouses: ["119240"] });
  const context = await shared.context();
  const page = await context.newPage();
  await page.goto(`${shared.site.origin}/example/index.html`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  const widget = new Widget(page);
  await widget.says("No unread notices");

  await shared.send("ann", "Bin A-04 is at -3", { warehouse: "119240", data: { bin: "A-04" } });
  await widget.says("1 unread notice");
  await page.waitForFunction(() => document.title.startsWith("(1) "));
  await widget.bell.click();
  await widget.notices.getByRole("button", { name: "Bin A-04 is at -3" }).click();
  await page.locator("#A-04.told").waitFor();
  expect(await page.locator("tallyman-inbox dl").count()).toBe(0);
  await widget.says("No unread notices");
  await axe(page);
});
