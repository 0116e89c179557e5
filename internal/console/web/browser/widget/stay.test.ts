import { expect, test } from "vitest";
import { until } from "../support/until";
import { fixture, type Widget } from "./fixture";

const shared = fixture();

/** Begins to write down what is added, removed and moved in the widget; names tells of whom. */
const watchNodes = (widget: Widget) =>
  widget.page.evaluate(() => {
    const root = document.querySelector("tallyman-inbox")!.shadowRoot!;
    const name = (node: Node) =>
      (node as Element).querySelector?.(".title")?.textContent ?? (node as Element).className ?? "text";
    const changes: string[] = [];
    Object.assign(window, { changes });
    new MutationObserver((records) => {
      for (const { addedNodes, removedNodes } of records) {
        changes.push(...[...addedNodes].map((node) => `+${name(node)}`));
        changes.push(...[...removedNodes].map((node) => `-${name(node)}`));
      }
    }).observe(root.querySelector(".window")!, { subtree: true, childList: true });
  });
const changes = (widget: Widget) =>
  widget.page.evaluate(() => (window as unknown as { changes: string[] }).changes);
const focused = (widget: Widget) =>
  widget.page.evaluate(() => {
    const active = document.querySelector("tallyman-inbox")!.shadowRoot!.activeElement;
    return active?.querySelector(".title")?.textContent ?? active?.tagName;
  });

test("what comes is put in, and nothing that stays is touched: a select that is open stays open", async () => {
  await shared.users("ann");
  for (const title of ["One", "Two", "Three"]) {
    await shared.send("ann", title);
  }
  const widget = await shared.open(await shared.context());
  await widget.says("3 unread notices");
  await widget.bell.click();
  await widget.lists("Three", "Two", "One");
  await widget.notices.first().getByText("Replenishment notice").waitFor(); // the names of types are there
  const select = widget.page.getByLabel("Type");
  await select.focus();
  await watchNodes(widget);
  await shared.send("ann", "Four");
  await shared.send("ann", "Five");
  await widget.lists("Five", "Four", "Three", "Two", "One");
  expect(await focused(widget)).toBe("SELECT");
  expect((await changes(widget)).filter((each) => !["+text", "-text"].includes(each)).sort()).toEqual([
    "+Five",
    "+Four",
  ]);
});

test("the focus and the scroll position stay when notices come, and when others go", async () => {
  await shared.users("sue");
  const titles = Array.from({ length: 12 }, (_, i) => `N${i + 1}`);
  const sent: string[] = [];
  for (const title of titles) {
    sent.push(await shared.send("sue", title));
  }
  const widget = await shared.open(await shared.context(), { user: "sue" });
  await widget.says("12 unread notices");
  await widget.bell.click();
  await widget.page.getByRole("button", { name: "Unread", exact: true }).click();
  await widget.lists(...titles.toReversed());
  await widget.notices.nth(5).focus();
  await watchNodes(widget);
  const token = shared.site.tokens["sue"];
  for (const gone of [11, 8, 3]) {
    await shared.server.call("POST", `/api/v1/notices/${sent[gone]}/read?warehouse=W1`, undefined, token);
  }
  await widget.lists(...titles.filter((_, i) => ![11, 8, 3].includes(i)).toReversed());
  expect(await focused(widget)).toBe("N7");
  expect((await changes(widget)).filter((each) => /[+-]N/.test(each)).sort()).toEqual(["-N12", "-N4", "-N9"]);

  const list = widget.page.locator("tallyman-inbox .list");
  await list.evaluate((element) => (element.scrollTop = 150));
  await shared.send("sue", "New");
  await widget.page.getByRole("button", { name: "1 new notice" }).waitFor();
  expect(await list.evaluate((element) => element.scrollTop)).toBe(150);
  expect(await focused(widget)).toBe("N7");
});

test("the count stays within the bell, whatever it is, and on both sides of a page", async () => {
  await shared.users("edge");
  const context = await shared.context({ viewport: { width: 360, height: 640 } });
  for (const dir of ["ltr", "rtl"] as const) {
    const widget = await shared.open(context, { user: "edge", dir });
    await widget.says("No unread notices");
    await shared.send("edge", "Urgent", { priority: 5 });
    const badge = widget.bell.locator(".badge");
    await badge.waitFor();
    for (const text of ["!1", "!568", "!999+"]) {
      const inside = await badge.evaluate((element, wanted) => {
        element.firstChild!.nodeValue = wanted;
        const [bell, count] = [element.parentElement!, element].map((each) => each.getBoundingClientRect());
        const end = document.dir === "rtl" ? count!.left >= bell!.left : count!.right <= bell!.right;
        return end && count!.left >= 0 && count!.right <= innerWidth;
      }, text);
      expect([dir, text, inside]).toEqual([dir, text, true]);
    }
    await shared.server.call(
      "POST",
      "/api/v1/notices/read-all",
      { warehouse: "W1", upTo: await cursor() },
      shared.site.tokens["edge"],
    );
    await widget.says("No unread notices");
    await widget.page.close();
  }
  async function cursor(): Promise<string> {
    const poll = () =>
      shared.server.call<{ cursor: string; notices: { read: boolean }[] }>(
        "GET",
        "/api/v1/notices",
        undefined,
        shared.site.tokens["edge"],
      );
    await until(async () => (await poll()).notices.some((notice) => !notice.read), "the notice");
    return (await poll()).cursor;
  }
});

test("a line separates all notices, of whatever height", async () => {
  await shared.users("lea");
  for (const title of ["One", "Two", "Three", "Four"]) {
    await shared.send("lea", title);
  }
  const widget = await shared.open(await shared.context(), { user: "lea" });
  await widget.bell.click();
  await widget.lists("Four", "Three", "Two", "One");
  const lines = await widget.page.evaluate(() =>
    [...document.querySelector("tallyman-inbox")!.shadowRoot!.querySelectorAll("article")].map((article) =>
      [getComputedStyle(article).borderTopWidth, getComputedStyle(article).borderBottomWidth].join(" "),
    ),
  );
  // Above each, where nothing that comes later is painted over it.
  expect(lines).toEqual(["0px 0px", "1px 0px", "1px 0px", "1px 1px"]);
});
