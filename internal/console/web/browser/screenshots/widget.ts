import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { launch } from "../support/chromium";
import { Demo } from "../support/demo";
import { watch } from "../support/page";
import { place, sizes } from "../support/pictures";
import { until } from "../support/until";

let browser: Browser;
let demo: Demo;

beforeAll(async () => {
  browser = await launch();
  demo = await Demo.start("--speed", "240");
  await until(async () => {
    const { unread } = await demo.get<{ unread: number }>(
      "/api/v1/notices/summary?warehouse=119240&subscriber=role:keeper",
    );
    return unread >= 10;
  }, "ten notices");
});

afterAll(async () => {
  await browser.close();
  await demo.stop();
});

const looks = [
  { suffix: "", colorScheme: "light" as const, language: "en" },
  { suffix: "-dark", colorScheme: "dark" as const, language: "en" },
  { suffix: "-zh", colorScheme: "light" as const, language: "zh-CN" },
  { suffix: "-zh-dark", colorScheme: "dark" as const, language: "zh-CN" },
];

for (const [size, device] of Object.entries(sizes)) {
  for (const look of looks) {
    test(`${size}${look.suffix}`, async () => {
      const context = await browser.newContext({ ...device, colorScheme: look.colorScheme });
      const faults = await watch(context);
      const page = await context.newPage();
      await page.goto(demo.wms);
      await page.locator("#language").selectOption(look.language);
      const popup = page.getByRole("alertdialog");
      await popup.waitFor();
      await page.screenshot({ path: place(`popup-${size}${look.suffix}`) });
      // Put off what waits, to see the window.
      await until(async () => {
        if (await popup.isVisible()) await page.keyboard.press("Escape");
        return !(await popup.isVisible());
      }, "no popup");
      await page.locator("tallyman-inbox").getByRole("button").first().click();
      await page.locator("tallyman-inbox").getByRole("article").first().waitFor();
      await page.screenshot({ path: place(`widget-${size}${look.suffix}`) });
      faults.check();
      await context.close();
    });
  }
}
