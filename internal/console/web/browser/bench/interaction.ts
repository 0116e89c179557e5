import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scrollToAll } from "../size/measure";
import { largeSite } from "../size/site";
import { launch } from "../support/chromium";
import type { Server } from "../support/server";

// From what somebody presses to the next frame that is painted, with all notices in the list: the event timing of the browser.

/** How often a list is loaded as a whole, and then filtered, sorted or left for a notice. */
const rounds = 4;
/** How often a key scrolls. */
const scrolls = 60;
/** The browser reports no shorter ones. */
const least = 16;

const noticeCount = 50_000;

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([largeSite(noticeCount), launch()]);
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});

/** Collects the durations of interactions, each with the longest of its events. */
async function collect(page: Page): Promise<void> {
  await page.addInitScript((threshold) => {
    const longest = new Map<number, number>();
    Object.assign(window, { interactions: longest });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEventTiming & { interactionId: number })[]) {
        const { interactionId: id, duration } = entry;
        if (id > 0) longest.set(id, Math.max(longest.get(id) ?? 0, duration));
      }
    }).observe({ type: "event", durationThreshold: threshold, buffered: true } as PerformanceObserverInit);
  }, least);
}

/** Does something once, waits for what follows, and tells how long the interaction took, in ms. */
async function timed(page: Page, act: () => Promise<unknown>): Promise<number> {
  const reset = () => (window as unknown as { interactions: Map<number, number> }).interactions.clear();
  await page.evaluate(reset);
  await act();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
  const took = await page.evaluate(() => [
    ...(window as unknown as { interactions: Map<number, number> }).interactions.values(),
  ]);
  return Math.max(least, ...took);
}

const p95 = (list: readonly number[]): number =>
  list.toSorted((a, b) => a - b)[Math.ceil(list.length * 0.95) - 1] ?? NaN;

test(`${noticeCount} notices: filter, sort, scroll and open`, async () => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.addInitScript((token) => {
    if (location.protocol === "http:") sessionStorage.setItem("tallyman.token", token);
  }, server.admin);
  const page = await context.newPage();
  await collect(page);
  const took: Record<"filter" | "sort" | "scroll" | "open", number[]> = {
    filter: [],
    sort: [],
    scroll: [],
    open: [],
  };
  const whole = async () => {
    await page.goto(`${server.address}/notices`);
    await page.locator("main [role=table] .body [role=row]").first().waitFor();
    await scrollToAll(page, noticeCount);
    await page.evaluate(() => scrollTo(0, 0));
  };
  for (let round = 0; round < rounds; round++) {
    await whole();
    for (let i = 0; i < scrolls / rounds; i++)
      took.scroll.push(await timed(page, () => page.keyboard.press("PageDown")));
    await page.evaluate(() => scrollTo(0, 0));
    took.sort.push(await timed(page, () => page.getByRole("button", { name: "Time", exact: true }).click()));
    await whole();
    const search = page.locator("main input[type=search]").first();
    await search.click();
    took.filter.push(await timed(page, () => page.keyboard.press("9")));
    took.filter.push(await timed(page, () => page.keyboard.press("Enter")));
    await whole();
    took.open.push(
      await timed(page, () => page.locator("main [role=table] .body [role=row] a").first().click()),
    );
  }
  const all = Object.values(took).flat();
  const kinds = Object.entries(took).map(([kind, list]) => `${kind} ${p95(list)} (of ${list.length})`);
  console.log(`interaction to next paint, p95 in ms: ${p95(all)} of all ${all.length}; ${kinds.join(", ")}`);
  expect(all.length).toBeGreaterThan(scrolls);
});
