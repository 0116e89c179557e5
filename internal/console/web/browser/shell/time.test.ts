import { afterAll, beforeAll, expect, test } from "vitest";
import { axeBoth, consoleFixture } from "../support/console";
import { Demo } from "../support/demo";
import { until } from "../support/until";

const shared = consoleFixture();
let demo: Demo;

beforeAll(async () => {
  demo = await Demo.start("--speed", "480");
  await until(async () => {
    const path = "/api/v1/queues/replenishment/items?state=done&limit=1";
    return (await demo.get<{ items: unknown[] }>(path)).items.length > 0;
  }, "work that was done");
});
afterAll(() => demo.stop());

/** All the times of the page, in ms. */
const day = 86_400_000;

test("the demo says that its clock is fast, and every page tells its time alone", async () => {
  const { clock } = await demo.get<{ clock: { at: string; rate: number } }>("/api/v1/me");
  expect(clock.rate).toBeCloseTo(480, 6);
  const { page, faults } = await shared.open("/types", { token: "" });
  faults.expect(/status of 401/);
  const done = await demo.get<{ items: { id: string }[] }>(
    "/api/v1/queues/replenishment/items?state=done&limit=1",
  );
  const item = `/queues/replenishment/items/${done.items[0]?.id}`;
  await until(async () => {
    const now = Date.parse((await demo.get<{ clock: { at: string } }>("/api/v1/me")).clock.at);
    return now - Date.now() > day / 8; // more than the hour below, and sooner than the patience of a test
  }, "a clock that is far ahead");
  for (const path of ["/", "/queues/replenishment", item, "/deliveries", "/notices"]) {
    await page.goto(demo.address + path);
    await page.getByText("The clock of this demo runs 480 times as fast").waitFor();
    await page.waitForFunction(() => !document.querySelector(".skeleton"));
    const now = Date.parse((await demo.get<{ clock: { at: string } }>("/api/v1/me")).clock.at);
    const times = await page.evaluate(() =>
      [...document.querySelectorAll("main time")].map((each) => ({
        at: Date.parse((each as HTMLTimeElement).dateTime),
        text: each.textContent ?? "",
      })),
    );
    for (const { at, text } of times) {
      const seconds = /^(in )?\d+ secs?\.?( ago)?$/.test(text.trim());
      if (seconds) expect(Math.abs(at - now), `${path}: ${text}`).toBeLessThan(3_600_000); // on the same clock, within the time that the test takes
    }
  }
  await axeBoth(page);
  await page.goto("about:blank");
});

test("a site's clock is the world's: there is no banner, and nothing is converted", async () => {
  const { clock } = await shared.server.call<{ clock: { at: string; machine: string; rate: number } }>(
    "GET",
    "/api/v1/me",
  );
  expect(clock.rate).toBe(1);
  expect(Math.abs(Date.parse(clock.at) - Date.parse(clock.machine))).toBeLessThan(1_000);
  const { page } = await shared.open("/tokens");
  await page.getByRole("row").filter({ hasText: "user:root" }).waitFor();
  expect(await page.getByText("as fast as real time").count()).toBe(0);
});

test("the date of a time is there on hover, with the keyboard, and everywhere by a switch", async () => {
  const { page } = await shared.open("/tokens");
  const row = page.getByRole("row").filter({ hasText: "user:root" });
  const time = row.locator("time").first();
  await time.waitFor();
  const full = /^\d+ \w+ \d{4}, \d\d:\d\d:\d\d$/;
  expect(await time.getAttribute("title")).toMatch(full);
  await row.getByRole("button").first().focus();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Tab"); // it was reached by the keyboard
  await expect.poll(() => page.getByRole("tooltip").innerText()).toMatch(full);
  await page.keyboard.press("Escape");
  await page.getByRole("tooltip").waitFor({ state: "hidden" });

  await page.getByRole("button", { name: "Language · Colours" }).click();
  await page.getByLabel("Times", { exact: true }).selectOption("absolute");
  await expect.poll(() => time.innerText()).toMatch(/^\d\d:\d\d:\d\d$/);
  await page.reload();
  await expect.poll(() => time.innerText()).toMatch(/^\d\d:\d\d:\d\d$/);
});

test("every page below another one has the same way back, to the list as it was left", async () => {
  const ids = await shared.server.send({
    type: "REP_NOTICE",
    warehouse: "119240",
    title: "Bin A-01",
    body: "",
    data: { bin: "A-01" },
    recipients: ["user:ann"],
  });
  const { page } = await shared.open("/notices?warehouse=119240");
  await page.getByRole("link", { name: "Bin A-01" }).click();
  await page.waitForURL(`**/notices/${ids[0]}`);
  const back = page.getByRole("navigation", { name: "Up one level" }).getByRole("link");
  expect((await back.innerText()).trim()).toBe("Notices");
  await back.click();
  await page.waitForURL("**/notices?warehouse=119240");
  expect(await back.count()).toBe(0);
});
