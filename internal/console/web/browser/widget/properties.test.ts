import type { BrowserContext } from "playwright-core";
import { expect, test } from "vitest";
import { until } from "../support/until";
import { fixture, type Widget } from "./fixture";

const shared = fixture();

/** Counts what the pages of a context ask the server and the site's token address for. */
function count(context: BrowserContext): string[] {
  const requests: string[] = [];
  context.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/api/") || pathname === "/token") requests.push(pathname);
  });
  return requests;
}

/** Waits until a notice has come, by the stream that was open before: everything asked until then is counted. */
async function hears(widget: Widget, user: string, title: string, label: string): Promise<void> {
  await shared.send(user, title);
  await widget.says(label);
}

type Element = HTMLElement & {
  server: string | null;
  warehouse: string | null;
  subscribers: string | null;
  locale: string | null;
  tokenProvider: (() => Promise<string>) | null | undefined;
  reconnect(): void;
};

test("a property that is set again to an equal or equivalent value makes no request", async () => {
  await shared.users("ann");
  const context = await shared.context();
  const requests = count(context);
  const widget = await shared.open(context, { attributes: 'locale="en" subscribers="user:ann"' });
  await widget.page.evaluate(() => {
    const element = document.querySelector<Element>("tallyman-inbox")!;
    element.tokenProvider = async () => (await fetch("/token?user=ann")).text();
  });
  await widget.says("No unread notices");
  await hears(widget, "ann", "One", "1 unread notice");
  await until(async () => (await shared.streams()) === 1, "one stream");
  const before = [...requests];

  await widget.page.evaluate(async () => {
    const element = document.querySelector<Element>("tallyman-inbox")!;
    const { server, warehouse } = element;
    for (let i = 0; i < 100; i++) {
      // What a framework does in each render.
      element.tokenProvider = async () => (await fetch(`/token?user=ann&render=${i}`)).text();
      element.server = i % 2 === 0 ? server : `${server}/`;
      element.warehouse = warehouse;
      element.subscribers = ["user:ann", " user:ann  ", "user:ann user:ann"][i % 3]!;
      element.locale = "en";
      element.setAttribute("token-provider", i % 2 === 0 ? "tallymanToken" : "otherToken"); // the property wins
      element.setAttribute("server", server!);
      document.documentElement.lang = "en";
      await new Promise((resolve) => setTimeout(resolve)); // each for itself
    }
  });
  await hears(widget, "ann", "Two", "2 unread notices");
  expect(requests).toEqual(before);
  expect(await shared.streams()).toBe(1);
});

test("the provider is asked when a token is needed, and it is the latest", async () => {
  await shared.users("tia");
  const context = await shared.context();
  const widget = await shared.open(context, { user: "tia" });
  await widget.says("No unread notices");
  await until(async () => (await shared.streams()) === 1, "one stream");
  await widget.page.evaluate(() => {
    const element = document.querySelector<Element>("tallyman-inbox")!;
    Object.assign(window, { asked: [] });
    for (const name of ["first", "second"]) {
      element.tokenProvider = async () => {
        (window as unknown as { asked: string[] }).asked.push(name);
        return (await fetch("/token?user=tia")).text();
      };
    }
  });
  const asked = () => widget.page.evaluate(() => (window as unknown as { asked: string[] }).asked.join());
  await until(async () => (await asked()) === "second", "a property to take the attribute's place");

  const { tokens } = await shared.server.call<{ tokens: { id: string; subject: string }[] }>(
    "GET",
    "/api/v1/tokens",
  );
  await widget.page.evaluate(() => {
    document.querySelector<Element>("tallyman-inbox")!.tokenProvider = async () => {
      (window as unknown as { asked: string[] }).asked.push("third");
      return (await fetch("/token?user=tia")).text();
    };
  });
  await hears(widget, "tia", "One", "1 unread notice");
  expect(await asked()).toBe("second");
  await shared.users("tia");
  await shared.server.call(
    "POST",
    `/api/v1/tokens/${tokens.find((token) => token.subject === "user:tia")!.id}/revoke`,
  );
  await hears(widget, "tia", "Two", "2 unread notices");
  expect(await asked()).toBe("second,third");
});

test("reconnect asks for a token, and shows the notices of whom it is of", async () => {
  await shared.users("leaves", "comes");
  await shared.send("leaves", "Of who leaves");
  await shared.send("comes", "Of who comes");
  const widget = await shared.open(await shared.context(), { user: "leaves" });
  await widget.says("1 unread notice");
  await widget.bell.click();
  await widget.lists("Of who leaves");
  await widget.page.evaluate(() => {
    document.documentElement.dataset["user"] = "comes";
    document.querySelector<Element>("tallyman-inbox")!.reconnect();
  });
  await widget.lists("Of who comes");
});

test("a provider that comes or goes connects anew", async () => {
  await shared.users("una");
  await shared.send("una", "One");
  const context = await shared.context();
  context.faults.expect(/401/);
  const widget = await shared.open(context, { user: "nobody" });
  await widget.bell.click();
  const refused = widget.page.getByText("You are not signed in to the notice server");
  await refused.waitFor();
  const set = (user: string | undefined) =>
    widget.page.evaluate((name) => {
      document.querySelector<Element>("tallyman-inbox")!.removeAttribute("token-provider");
      document.querySelector<Element>("tallyman-inbox")!.tokenProvider = name
        ? async () => (await fetch(`/token?user=${name}`)).text()
        : null;
    }, user);
  await set("una");
  await widget.lists("One");
  await set(undefined);
  await refused.waitFor();
});

test("properties that were set before the element was defined count, and are its attributes", async () => {
  await shared.users("eva");
  await shared.send("eva", "One", { texts: { en: { title: "One" }, zh: { title: "一" } } });
  const context = await shared.context();
  const page = await context.newPage();
  let define = () => {};
  const defined = new Promise<void>((resolve) => (define = resolve));
  await page.route("**/widget.js", async (route) => {
    await defined;
    await route.continue();
  });
  await page.goto(shared.site.page({ user: "nobody" }), { waitUntil: "commit" });
  await page.locator("tallyman-inbox").waitFor({ state: "attached" });
  await page.evaluate(() => {
    const element = document.querySelector<Element>("tallyman-inbox")!;
    Object.assign(element, {
      locale: "zh-CN",
      subscribers: "user:eva",
      tokenProvider: async () => (await fetch("/token?user=eva")).text(),
    });
  });
  define();
  await page.locator('tallyman-inbox .bell[aria-label="1 条未读通知"]').waitFor();
  const attributes = await page.evaluate(() => {
    const element = document.querySelector<Element>("tallyman-inbox")!;
    const found = [element.getAttribute("locale"), element.subscribers, element.warehouse];
    element.locale = null;
    return [...found, element.hasAttribute("locale"), element.locale];
  });
  expect(attributes).toEqual(["zh-CN", "user:eva", "W1", false, null]);
});
