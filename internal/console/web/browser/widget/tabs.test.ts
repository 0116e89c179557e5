import { expect, test } from "vitest";
import { until } from "../support/until";
import { fixture } from "./fixture";

const shared = fixture();

const titles = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `N${from + i}`);

test("tabs of a user share a stream; the next takes it over and misses nothing", async () => {
  await shared.users("ann", "bob");
  const context = await shared.context();
  const first = await shared.open(context);
  await until(async () => (await shared.streams()) === 1, "a stream");
  const second = await shared.open(context);
  const third = await shared.open(context);
  for (const widget of [first, second, third]) {
    await widget.says("No unread notices");
  }
  await shared.send("ann", "N1");
  for (const widget of [first, second, third]) {
    await widget.says("1 unread notice");
  }
  expect(await shared.streams()).toBe(1);

  const other = await shared.open(context, { user: "bob" });
  await other.says("No unread notices");
  await until(async () => (await shared.streams()) === 2, "a stream for the other user");

  // While the leader's tab closes, notices come all the time.
  const sending = (async () => {
    for (const title of titles(2, 20)) {
      await shared.send("ann", title);
    }
  })();
  await until(async () => (await second.heard("tallyman-notice")).length > 4, "some of them");
  await first.page.close();
  await sending;
  for (const widget of [second, third]) {
    await widget.says("20 unread notices");
    expect(await widget.heard("tallyman-notice")).toEqual(expect.arrayContaining(titles(2, 20)));
    const heard = await widget.heard("tallyman-notice");
    expect(new Set(heard).size).toBe(heard.length);
    await widget.bell.click();
    await widget.lists(...titles(1, 20).reverse());
  }
  await until(async () => (await shared.streams()) === 2, "one stream for each user");
  await other.says("No unread notices");
});

test("a restart of the server loses nothing and shows nothing twice", async () => {
  await shared.users("rex");
  const context = await shared.context();
  context.faults.expect(
    /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|503/,
  );
  const leader = await shared.open(context, { user: "rex" });
  await leader.says("No unread notices");
  const follower = await shared.open(context, { user: "rex" });
  await follower.says("No unread notices");
  await shared.send("rex", "N1");
  for (const widget of [leader, follower]) {
    await widget.says("1 unread notice");
  }
  await shared.server.restart();
  await shared.send("rex", "N2");
  await shared.send("rex", "N3");
  for (const widget of [leader, follower]) {
    await widget.says("3 unread notices");
    expect(await widget.heard("tallyman-notice")).toEqual(titles(1, 3));
    await widget.bell.click();
    await widget.lists("N3", "N2", "N1");
  }
});

test("without locks, as on plain http, each tab works for itself", async () => {
  await shared.users("lan");
  const context = await shared.context();
  await context.addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
  await until(async () => (await shared.streams()) === 0, "the end of the streams of before");
  const widgets = [await shared.open(context, { user: "lan" }), await shared.open(context, { user: "lan" })];
  await until(async () => (await shared.streams()) === 2, "two streams");
  await shared.send("lan", "N1", { modal: "popup" });
  for (const widget of widgets) {
    await widget.says("1 unread notice");
    await widget.popup.waitFor();
  }
  await widgets[1]!.popup.getByRole("button", { name: "Acknowledge" }).click();
  for (const widget of widgets) {
    await widget.popup.waitFor({ state: "detached" });
    await widget.says("No unread notices");
  }
});

test("what is taken out of the page leaves nothing behind", async () => {
  await shared.users("liv");
  await until(async () => (await shared.streams()) === 0, "the end of the streams of before");
  const widget = await shared.open(await shared.context(), { user: "liv" });
  await widget.says("No unread notices");
  await until(async () => (await shared.streams()) === 1, "a stream");
  await widget.page.evaluate(() => {
    const element = document.querySelector("tallyman-inbox")!;
    Object.assign(window, { element });
    element.remove();
  });
  await until(async () => (await shared.streams()) === 0, "the end of the stream");
  const held = () => widget.page.evaluate(async () => (await navigator.locks.query()).held?.length);
  await until(async () => (await held()) === 0, "no lock");
  const left = () =>
    widget.page.evaluate(
      () => (window as unknown as { element: Element }).element.shadowRoot!.childElementCount,
    );
  expect(await left()).toBe(0);
  await shared.send("liv", "N1");
  await widget.page.evaluate(() =>
    document.querySelector("header")!.append((window as unknown as { element: Element }).element),
  );
  await widget.says("1 unread notice");
});
