import { expect, test } from "vitest";
import { until } from "../support/until";
import { fixture } from "./fixture";

const shared = fixture();

test("the bell says how many are unread and urgent, and follows them", async () => {
  await shared.users("ann");
  await shared.send("ann", "One");
  await shared.send("ann", "Two", { priority: 4 });
  const widget = await shared.open(await shared.context());
  await widget.says("2 unread notices, 1 urgent");
  await expect.poll(() => widget.bell.getByText("!2").isVisible()).toBe(true);

  await shared.send("ann", "Three");
  await widget.says("3 unread notices, 1 urgent");
  await widget.page.locator("tallyman-inbox [role=status]", { hasText: "New notice: Three" }).waitFor();
  expect(await widget.heard("tallyman-notice")).toEqual(["Three"]);

  await widget.bell.click();
  await widget.lists("Three", "Two", "One");
  await widget.notices.nth(1).getByRole("button", { name: "Two" }).click();
  await widget.says("2 unread notices");
  expect(await widget.heard("tallyman-open")).toEqual(["Two"]);
  await widget.notices.nth(1).getByText("Two: the body").waitFor();
});

test("the page may open a notice itself", async () => {
  await shared.users("olga");
  await shared.send("olga", "One", { data: { bin: "A-01" } });
  const widget = await shared.open(await shared.context(), { user: "olga" });
  await widget.says("1 unread notice");
  await widget.page.evaluate(() => Object.assign(window, { keep: true }));
  await widget.bell.click();
  await widget.notices.getByRole("button", { name: "One" }).click();
  await widget.says("No unread notices");
  expect(await widget.page.locator("tallyman-inbox dl").count()).toBe(0);
  await widget.page.evaluate(() => Object.assign(window, { keep: false }));
  await widget.notices.getByRole("button", { name: "One" }).click();
  await widget.page.locator("tallyman-inbox dl", { hasText: "A-01" }).waitFor();
});

test("everything is marked read after it was asked", async () => {
  await shared.users("bea");
  await shared.send("bea", "One");
  await shared.send("bea", "Two");
  const widget = await shared.open(await shared.context(), { user: "bea" });
  await widget.says("2 unread notices");
  await widget.bell.click();
  await widget.page.getByRole("button", { name: "Mark all read" }).click();
  await widget.page.getByText("Mark 2 notices read? There is no undo.").waitFor();
  await widget.page.getByRole("button", { name: "Cancel" }).click();
  await widget.page.getByRole("button", { name: "Mark all read" }).click();
  await widget.window.locator(".foot").getByRole("button", { name: "Mark read" }).click();
  await widget.says("No unread notices");
  const unread = async () =>
    (
      await shared.server.call<{ unread: number }>(
        "GET",
        "/api/v1/notices",
        undefined,
        shared.site.tokens["bea"],
      )
    ).unread;
  await until(async () => (await unread()) === 0, "the server to know");
});

test("it speaks Chinese on a Chinese page, and follows the page's language", async () => {
  await shared.users("lin");
  await shared.send("lin", "", { texts: { en: { title: "Bin" }, zh: { title: "货位" } } } as never);
  const widget = await shared.open(await shared.context(), { user: "lin", lang: "zh-CN" });
  await widget.says("1 条未读通知");
  await widget.bell.click();
  await widget.lists("货位");
  await widget.notices.getByText("补货通知").waitFor();
  await widget.page.evaluate(() => (document.documentElement.lang = "de"));
  await widget.says("1 unread notice");
  await widget.lists("Bin");
});

test("filters leave notices out, and say so", async () => {
  await shared.users("flo");
  await shared.send("flo", "Wave", { type: "WAVE_STUCK" });
  await shared.send("flo", "Urgent bin", { priority: 5 });
  const widget = await shared.open(await shared.context(), { user: "flo" });
  await widget.bell.click();
  await widget.lists("Urgent bin", "Wave");
  const urgent = widget.page.getByRole("button", { name: "Urgent", exact: true });
  await urgent.click();
  await widget.lists("Urgent bin");
  await widget.page.getByLabel("Type").selectOption("WAVE_STUCK");
  await widget.page.getByText("No notice matches the filters.").waitFor();
  await widget.page.getByRole("button", { name: "Show all" }).click();
  await widget.lists("Urgent bin", "Wave");
  await expect.poll(() => urgent.getAttribute("aria-pressed")).toBe("false");
  await widget.notices.first().getByRole("button", { name: "Mark read" }).click();
  await widget.says("1 unread notice");
  await widget.notices.last().focus();
  await widget.page.getByRole("button", { name: "Unread", exact: true }).click();
  await widget.lists("Wave");
});

test("what comes while somebody reads waits behind a button", async () => {
  await shared.users("rea");
  await shared.send("rea", "Old");
  const widget = await shared.open(await shared.context(), { user: "rea" });
  await widget.says("1 unread notice");
  await widget.bell.click();
  await widget.lists("Old");
  await shared.send("rea", "New");
  await widget.page.getByRole("button", { name: "1 new notice" }).waitFor();
  await widget.lists("Old");
  await widget.page.getByRole("button", { name: "1 new notice" }).click();
  await widget.lists("New", "Old");
  await until(
    () => widget.notices.first().evaluate((article) => article.matches(":focus")),
    "the focus on what is new",
  );
});

test("a notice that expires goes", async () => {
  await shared.users("exa");
  await shared.send("exa", "Stays");
  await shared.send("exa", "Goes", { expires: "1h" });
  const context = await shared.context();
  await context.clock.install();
  const widget = await shared.open(context, { user: "exa" });
  await widget.says("2 unread notices");
  await widget.bell.click();
  await widget.lists("Goes", "Stays");
  await context.clock.fastForward("01:00:01");
  await widget.lists("Stays");
});
