import { beforeAll, expect, test } from "vitest";
import { brokenSite } from "../notices/site";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";

const shared = consoleFixture(brokenSite);

interface Overview {
  rules: Record<string, number>;
  notices: { lastHour: number };
  findings: { warehouse: string; firing: number }[];
}
const overview = () => shared.server.call<Overview>("GET", "/api/v1/overview");

declare global {
  interface Window {
    shifts: number;
  }
}

beforeAll(async () => {
  await shared.server.call("POST", "/api/v1/rules/negative-bin-stock/run?scope=119240");
  await until(async () => (await overview()).findings[0]?.firing === 1, "the finding to be counted");
});

test("the figures are those of the API, and lead to what they count", async () => {
  const { page } = await shared.open("/");
  const { rules, notices } = await overview();
  for (const [name, health] of [
    ["OK", "ok"],
    ["Waiting", "waiting"],
    ["Disabled", "disabled"],
    ["Unverified", "unverified"],
  ] as const) {
    const tile = page.getByRole("link", { name: `${rules[health]} ${name}`, exact: true });
    expect(await tile.getAttribute("href")).toBe(`/rules?health=${health}`);
  }
  await page.getByRole("link", { name: new RegExp(`^${notices.lastHour} notices? in 1 h$`) }).waitFor();
  await page.getByText("1 firing", { exact: true }).waitFor();
  const link = page.getByRole("link", { name: "119240", exact: true });
  expect(await link.getAttribute("href")).toBe("/notices?warehouse=119240");
  for (const heading of ["Queues", "Sinks", "Nodes", "Parts"]) {
    await page.getByRole("heading", { name: heading }).waitFor();
  }
  await page.getByText("Ledger").waitFor();
  await expect
    .poll(() => page.getByRole("link", { name: "0 pending" }).first().getAttribute("href"))
    .toBe("/deliveries?sink=inbox&state=pending");
  await page.getByRole("slider").first().waitFor(); // the charts
  await axeBoth(page);
});

test("a chart is read by keyboard and as a table, and a point leads to its list", async () => {
  const { page } = await shared.open("/?range=1h");
  const figure = page.getByRole("figure", { name: "Notices per minute" });
  const chart = figure.getByRole("slider");
  await chart.focus();
  await page.keyboard.press("Home");
  const first = await chart.getAttribute("aria-valuetext");
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => chart.getAttribute("aria-valuetext")).not.toBe(first);
  await figure.getByRole("status").getByText("all 0, urgent (priority 4 and 5) 0").waitFor();
  await figure.getByText("As a table").click();
  expect(await figure.getByRole("row").count()).toBeGreaterThan(60);
  await figure.getByRole("link", { name: "Open the list" }).click();
  await until(() => new URL(page.url()).searchParams.get("span") === "own", "the notices of a minute");
});

test("by touch a point is chosen first, and then its list is opened", async () => {
  const { page } = await shared.open("/?range=1h", handheld);
  const figure = page.getByRole("figure", { name: "Notices per minute" });
  const before = await figure.getByRole("slider").getAttribute("aria-valuenow");
  await figure.locator(".u-over").tap({ position: { x: 60, y: 60 } });
  await expect.poll(() => figure.getByRole("slider").getAttribute("aria-valuenow")).not.toBe(before);
  expect(new URL(page.url()).pathname).toBe("/");
  await figure.getByRole("link", { name: "Open the list" }).tap();
  await until(() => new URL(page.url()).pathname === "/notices", "the list");
});

test("what is wrong stands first, in words that lead to it", async () => {
  const { page } = await shared.open("/");
  const wrong = page.getByRole("log", { name: "Needs attention" });
  await wrong.getByText("1 rule is unverified and does not run").waitFor();
  await page.getByRole("status").getByText("1 thing needs attention").waitFor();
  await wrong.getByRole("link", { name: "Look at the rules" }).click();
  await until(() => new URL(page.url()).search === "?health=unverified", "the list of rules");
});

test("changes come by themselves and move nothing", async () => {
  const { page } = await shared.open("/");
  await page.getByRole("slider").nth(4).waitFor(); // all charts are there
  await page.evaluate(() => {
    window.shifts = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.shifts += (entry as unknown as { value: number }).value;
    }).observe({ type: "layout-shift" });
  });
  await shared.server.call("POST", "/api/v1/rules/pause", { reason: "stocktake" });
  await page.getByRole("log").getByText("All rules are paused by user:root").waitFor();
  await page.getByRole("log").getByText("stocktake").waitFor();
  await shared.server.call("POST", "/api/v1/queues/work/pause", {});
  await page.getByText("The queue work is paused by user:root").waitFor();
  await shared.server.call("POST", "/api/v1/queues/work/resume", {});
  await shared.server.call("POST", "/api/v1/rules/resume");
  await page.getByText("All rules are paused by user:root").waitFor({ state: "detached" });
  const { rules } = await overview();
  await page.getByRole("link", { name: `${rules["disabled"]} Disabled`, exact: true }).waitFor();
  expect(await page.evaluate(() => window.shifts)).toBeLessThan(0.01);
});

test("where nothing is wrong the page says so", async () => {
  const { page } = await shared.open("/");
  await page.getByRole("log").waitFor();
  const well = await overview();
  await page.route("**/api/v1/overview/stream", (route) =>
    route.fulfill({
      contentType: "text/event-stream",
      body: `event: overview\ndata: ${JSON.stringify({
        ...well,
        rules: { ...well.rules, unverified: 0 },
        findings: [],
      })}\n\n`,
    }),
  );
  await page.reload();
  await page.getByRole("status").getByText("All is well").waitFor();
  await page.getByText("all parts and sinks work").waitFor();
  await page.getByText("No finding is open").waitFor();
});

test("a stream that cannot be had is told, and what was shown is marked", async () => {
  const { page, faults } = await shared.open("/");
  faults.expect(/ERR_FAILED|ERR_CONNECTION|Failed to load|status of/);
  await page.getByRole("log").waitFor();
  await shared.server.down();
  try {
    await page.getByText("Reconnecting…").waitFor();
    await page.getByRole("log").waitFor();
  } finally {
    await shared.server.up();
  }
  await page.getByText("Live", { exact: true }).waitFor();
});

test("fits a narrow screen in Chinese, and a wall", async () => {
  const { page } = await shared.open("/", { ...handheld, locale: "zh" });
  await page.getByText("1 条规则未验证，不运行").waitFor();
  const over = () =>
    page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(await over()).toBeLessThanOrEqual(0);
  await axeBoth(page);
  const wall = await shared.open("/", { viewport: { width: 3840, height: 2160 } });
  await wall.page.getByRole("slider").nth(4).waitFor(); // all charts are there
  const cut = await wall.page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
  expect(cut).toBeLessThanOrEqual(0);
});
