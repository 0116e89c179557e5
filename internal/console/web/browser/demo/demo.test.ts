import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch } from "../support/chromium";
import { Demo } from "../support/demo";
import { layoutFaults } from "../support/layout";
import { axe, watch } from "../support/page";
import { sizes } from "../support/pictures";
import { until } from "../support/until";

let browser: Browser;
let demo: Demo;

beforeAll(async () => {
  browser = await launch();
  demo = await Demo.start("--speed", "480");
  await until(async () => {
    const { hours } = (await demo.get<{ notices: { hours: { count: number }[] } }>("/api/v1/overview"))
      .notices;
    return hours.filter((hour) => hour.count > 0).length >= 2;
  }, "notices of two hours");
});

afterAll(async () => {
  await browser.close();
  await demo.stop();
});

/** Every page, with what the demo has to show. */
async function addresses(): Promise<string[]> {
  const found = await demo.get<{ notices: { id: string }[] }>(
    "/api/v1/notices/search?rule=negative-bin-stock&limit=1",
  );
  const done = await demo.get<{ items: { id: string }[] }>(
    "/api/v1/queues/replenishment/items?state=done&limit=1",
  );
  const rule = "/rules/negative-bin-stock";
  return [
    ..."/ /rules /notices /queues /queues/replenishment /deliveries /subscriptions /types /silences /tokens /audit".split(
      " ",
    ),
    ...["findings", "runs", "source", "preview", "draft", "why"].map(
      (tab) => `${rule}?tab=${tab}&scope=119240`,
    ),
    `/notices/${found.notices[0]?.id}`,
    `/queues/replenishment/items/${done.items[0]?.id}`,
  ];
}

/** Two languages, each on a desk and in a hand, of four sizes. A page is loaded once, and then turned from the desk to the hand. */
const looks = [
  [
    "en",
    { viewport: { width: 1280, height: 800 }, hasTouch: false },
    { viewport: { width: 360, height: 740 }, hasTouch: true },
  ],
  ["zh", sizes.wide, sizes.narrow],
] as const;

test.each(looks)(
  "every page shows a warehouse at work on a desk and in a hand: nothing is cut off or out of the screen, no controls lie on one another, %s",
  async (locale, ...devices) => {
    const context = await browser.newContext({ reducedMotion: "reduce", locale });
    const faults = await watch(context);
    const page = await context.newPage();
    const driver = await context.newCDPSession(page);
    const wrong: string[] = [];
    for (const address of await addresses()) {
      for (const device of devices) {
        const { viewport, hasTouch } = device;
        await driver.send("Emulation.setTouchEmulationEnabled", { enabled: hasTouch });
        await page.setViewportSize(viewport);
        if (device === devices[0]) await page.goto(demo.address + address);
        await page.locator("main h1").waitFor();
        await page.waitForFunction(() => !document.querySelector(".skeleton"));
        await page.waitForFunction((touch) => matchMedia("(pointer: coarse)").matches === touch, hasTouch);
        await page.evaluate(
          () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        );
        const place = `${address}, ${viewport.width} px wide,`;
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wider > 0) wrong.push(`${place} is ${wider} px wider than the screen`);
        if ((await page.getByRole("alert").count()) > 0) wrong.push(`${place} shows a failure`);
        wrong.push(...(await layoutFaults(page)).map((fault) => `${place} ${fault}`));
        if (locale === "en") await axe(page); // colours and names are alike in both
      }
    }
    await context.close();
    expect(wrong).toEqual([]);
    faults.check();
  },
);

test("the page of the WMS has the widget at work", async () => {
  const context = await browser.newContext({ reducedMotion: "reduce", locale: "en" });
  const faults = await watch(context);
  const page = await context.newPage();
  await page.goto(demo.wms);
  const popup = page.getByRole("alertdialog");
  await popup.waitFor();
  await demo.post("/api/v1/rules/pause", { reason: "so that it stands still" }); // axe compares what it reads at two moments
  await axe(page);
  await until(async () => {
    if (await popup.isVisible()) await page.keyboard.press("Escape"); // puts it off
    return !(await popup.isVisible());
  }, "no popup");
  await page.getByRole("button", { name: /unread notices/ }).press("Enter");
  await page.getByRole("article").first().waitFor();
  await axe(page);
  faults.check();
  await context.close();
});
