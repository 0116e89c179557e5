import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch } from "../support/chromium";
import { type Faults, watch } from "../support/page";
import type { Server } from "../support/server";
import { until } from "../support/until";
import { firstRow, noteFirstRow, rowsInDocument, rowsInTable, scrollThrough, scrollToAll } from "./measure";
import { largeSite, ruleCount } from "./site";

// What is large must not become slow. How fast it is is printed, not asserted: that depends on the machine.

/** Far more rows than a screen has, and far fewer than there are. */
const inDocument = 150;
/** The benchmark has more. */
const noticeCount = 10_000;

let server: Server;
let browser: Browser;
let context: BrowserContext;
let faults: Faults;
let page: Page;

beforeAll(async () => {
  [server, browser] = await Promise.all([largeSite(noticeCount), launch()]);
  context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  faults = await watch(context);
  await noteFirstRow(context);
  await context.addInitScript((token) => {
    if (location.protocol === "http:") sessionStorage.setItem("tallyman.token", token); // about:blank has none
  }, server.admin);
  page = await context.newPage();
}, 120_000);

afterAll(async () => {
  await browser.close();
  await server.stop();
});

test(`${ruleCount} rules: only those in sight are in the document, and the last can be reached and found`, async () => {
  await page.goto(`${server.address}/rules`);
  const first = await firstRow(page);
  await until(async () => (await rowsInTable(page)) === ruleCount, "all rules");
  expect(await rowsInDocument(page)).toBeLessThan(inDocument);
  const frames = await scrollThrough(page, 120);
  await page.getByText("Rule 1999 of many").waitFor();
  expect(await rowsInDocument(page)).toBeLessThan(inDocument);
  await page.locator("main input[type=search]").fill("rule-1234");
  await page.getByText("Rule 1234 of many").waitFor();
  await until(async () => (await rowsInTable(page)) === 1, "the one rule");
  console.log(
    `rules: first row after ${first.toFixed(0)} ms; frames while scrolling p95 ${frames.p95.toFixed(0)}, longest ${frames.longest.toFixed(0)} ms`,
  );
  faults.check();
});

test(`${noticeCount} notices: all can be scrolled to, and the document stays small`, async () => {
  await page.goto(`${server.address}/notices`);
  const first = await firstRow(page);
  await scrollToAll(page, noticeCount);
  expect(await rowsInDocument(page)).toBeLessThan(inDocument);
  await page.evaluate(() => scrollTo(0, 0));
  const frames = await scrollThrough(page, 240);
  await page.getByText("Notice 0", { exact: true }).waitFor();
  expect(await rowsInDocument(page)).toBeLessThan(inDocument);
  console.log(
    `notices: first row after ${first.toFixed(0)} ms; frames while scrolling p95 ${frames.p95.toFixed(0)}, longest ${frames.longest.toFixed(0)} ms`,
  );
  faults.check();
});
