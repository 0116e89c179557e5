import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { launch } from "../support/chromium";
import { Demo } from "../support/demo";
import { watch } from "../support/page";
import { Server } from "../support/server";
import { until } from "../support/until";
import { place, sizes } from "../support/pictures";

let browser: Browser;
let demo: Demo;
let asks: Server; // for a token, which the demo does not

beforeAll(async () => {
  browser = await launch();
  asks = await Server.start();
  demo = await Demo.start("--speed", "480");
  // A few hours of the warehouse: rules have fired, deliveries have failed, work was done.
  await until(async () => {
    const { hours } = (await demo.get<{ notices: { hours: { count: number }[] } }>("/api/v1/overview"))
      .notices;
    return hours.filter((hour) => hour.count > 0).length >= 3;
  }, "three hours of notices");
});

afterAll(async () => {
  await browser.close();
  await Promise.all([demo.stop(), asks.stop()]);
});

interface Shot {
  name: string;
  path: () => string | Promise<string>;
  /** Brings the page to what is to be seen. */
  then?: (page: Page) => Promise<unknown>;
}

const rule = "/rules/negative-bin-stock";
const aNotice = async (): Promise<string> => {
  const found = await demo.get<{ notices: { id: string }[] }>(
    "/api/v1/notices/search?rule=negative-bin-stock&status=firing&limit=1",
  );
  return `/notices/${found.notices[0]?.id}`;
};
const anItem = async (): Promise<string> => {
  const items = await demo.get<{ items: { id: string }[] }>(
    "/api/v1/queues/replenishment/items?state=done&limit=1",
  );
  return `/queues/replenishment/items/${items.items[0]?.id}`;
};

const aFinding = async (): Promise<string> => {
  const open = await demo.get<{ findings: { scope: string; key: string }[] }>(
    "/api/v1/rules/pick-face-below-minimum/findings?limit=1",
  );
  const { scope = "119240", key = "" } = open.findings[0] ?? {};
  return `/rules/pick-face-below-minimum?${new URLSearchParams({ tab: "why", scope, key })}`;
};
const tab = (name: string) => () => `${rule}?tab=${name}&scope=119240`;
/** The page behind the tabs begins with what the tab shows. */
const scrollToTabs = (page: Page) =>
  page
    .locator("main [role=tablist]")
    .evaluate((tabs) => scrollTo(0, tabs.getBoundingClientRect().top + scrollY - 72)); // below the top bar

const shots: Shot[] = [
  { name: "overview", path: () => "/" },
  { name: "rules", path: () => "/rules" },
  { name: "rule", path: () => rule },
  { name: "rule-runs", path: tab("runs"), then: scrollToTabs },
  { name: "rule-source", path: tab("source"), then: scrollToTabs },
  { name: "rule-preview", path: tab("preview"), then: scrollToTabs },
  { name: "rule-draft", path: tab("draft"), then: scrollToTabs },
  { name: "rule-why", path: aFinding, then: scrollToTabs },
  { name: "notices", path: () => "/notices" },
  { name: "notice", path: aNotice },
  { name: "queues", path: () => "/queues" },
  { name: "queue", path: () => "/queues/replenishment" },
  { name: "item", path: anItem },
  { name: "deliveries", path: () => "/deliveries" },
  { name: "subscriptions", path: () => "/subscriptions" },
  { name: "types", path: () => "/types" },
  { name: "silences", path: () => "/silences" },
  { name: "tokens", path: () => "/tokens" },
  { name: "audit", path: () => "/audit" },
];

const looks = [
  { suffix: "", locale: "en", theme: "light" },
  { suffix: "-dark", locale: "en", theme: "dark" },
  { suffix: "-zh", locale: "zh", theme: "light" },
  { suffix: "-zh-dark", locale: "zh", theme: "dark" },
];

for (const [size, device] of Object.entries(sizes)) {
  for (const look of looks) {
    test(`${size}${look.suffix}`, async () => {
      const context = await browser.newContext(device);
      const faults = await watch(context);
      await context.addInitScript(({ locale, theme }) => {
        if (location.protocol !== "http:") return; // about:blank has no storage
        localStorage.setItem("tallyman.locale", locale);
        localStorage.setItem("tallyman.theme", theme);
      }, look);
      const page = await context.newPage();
      for (const shot of shots) {
        await page.goto(demo.address + (await shot.path()));
        await page.locator("h1").waitFor();
        await page.waitForFunction(() => !document.querySelector(".skeleton"));
        await shot.then?.(page);
        const name = `${shot.name}-${size}${look.suffix}`;
        await page.screenshot({ path: place(name) });
      }
      await page.goto(asks.address);
      await page.locator("input[type=password]").waitFor();
      await page.screenshot({ path: place(`login-${size}${look.suffix}`) });
      faults.expect(/status of 401/); // /me, before the login
      faults.check();
      await context.close();
    });
  }
}
