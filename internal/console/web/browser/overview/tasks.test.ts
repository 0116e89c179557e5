import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { brokenSite } from "../notices/site";
import { KeyboardPerson, MousePerson, type Person } from "../support/clicks";
import { consoleFixture } from "../support/console";
import { until } from "../support/until";

// What somebody does with the overview, by mouse within so many clicks, and again by keyboard alone.

const shared = consoleFixture(brokenSite);

beforeAll(async () => {
  const note = { body: "It was sent.", recipients: ["user:ann"], priority: 3 };
  const { server } = shared;
  await server.send(
    {
      ...note,
      type: "REP_NOTICE",
      warehouse: "119240",
      title: "The one that is looked for",
      data: { bin: "A" },
    },
    { ...note, type: "REP_NOTICE", warehouse: "119241", title: "Of another warehouse", data: { bin: "A" } },
    { ...note, type: "WAVE_STUCK", warehouse: "119240", title: "Of another type", data: { wave: "1" } },
  );
  await until(async () => {
    const path = "/api/v1/overview";
    const { notices } = await server.call<{ notices: { lastHour: number } }>("GET", path);
    return notices.lastHour === 3;
  }, "the notices to be counted: the server counts at most every two seconds");
  await server.call("POST", "/api/v1/rules/negative-bin-stock/disable", { reason: "stocktake" });
  await server.call("POST", "/api/v1/silences", {
    matchers: ["rule=negative-bin-stock"],
    for: "1h",
    comment: "The forklifts rest",
  });
});

/** How much later the console believes it is, in ms. It is less than a day: what the last 24 hours begin with is then in the server's past. */
const later = 23 * 3_600_000;

/** Lets the console believe that it is the next evening, so that what was sent just now is yesterday's. */
async function tomorrow(page: Page): Promise<void> {
  const overview = await shared.server.call<{ at: string }>("GET", "/api/v1/overview");
  await page.route("**/api/v1/overview/stream", (route) =>
    route.fulfill({
      contentType: "text/event-stream",
      body: `event: overview\ndata: ${JSON.stringify({
        ...overview,
        at: new Date(Date.parse(overview.at) + later).toISOString(),
      })}\n\n`,
    }),
  );
  await page.reload();
  await page.getByRole("button", { name: "What changed" }).waitFor(); // the stream has told its time
}

/** A time zone in which it is evening: soon after midnight a day is too short for bars of an hour. */
function eveningZone(): string {
  const ahead = ((20 - new Date().getUTCHours() + 12) % 24) - 12; // from -12 to 11
  return ahead > 0 ? `Etc/GMT-${ahead}` : `Etc/GMT+${-ahead}`; // the signs of these names are turned round
}

const people: [string, (page: Page) => Person][] = [
  ["mouse", () => new MousePerson()],
  ["keyboard", (page) => new KeyboardPerson(page)],
];

test.each(people)(
  "yesterday's notices per hour of a warehouse and a type, down to the notices: by %s",
  async (_, personOf) => {
    const { page } = await shared.open("/", { timezoneId: eveningZone() });
    await tomorrow(page);
    const person = personOf(page);
    await person.press(page.getByRole("button", { name: "Yesterday" }));
    await person.press(page.getByRole("button", { name: /^119240/ }));
    await person.press(page.getByRole("button", { name: /^REP_NOTICE/ }));
    await page.locator("button[aria-pressed=true]", { hasText: "REP_NOTICE" }).waitFor();
    const chart = page.getByRole("slider", { name: /^Notices per hour/ });
    await page.getByRole("figure", { name: "Notices per hour" }).getByText("all 1").waitFor();
    await person.pressAt(chart, await lastBar(chart), ["End", "Enter"]);
    await until(() => new URL(page.url()).pathname === "/notices", "the list of notices");
    await page.getByText("The one that is looked for").waitFor();
    expect(await page.getByText("Of another").count()).toBe(0);
    expect(person.clicks).toBeLessThanOrEqual(4);
  },
);

/** Where the middle of the chart's last bar is, as shares of the chart's width and height. */
async function lastBar(chart: ReturnType<Page["getByRole"]>): Promise<{ x: number; y: number }> {
  return chart.evaluate((element) => {
    const whole = element.getBoundingClientRect();
    const drawn = element.querySelector(".u-over")!.getBoundingClientRect();
    const bars = Number(element.getAttribute("aria-valuemax")) + 1;
    return { x: (drawn.left - whole.left + drawn.width * (1 - 0.5 / bars)) / whole.width, y: 0.4 };
  });
}

test.each(people)("what changed in the last hour: by %s", async (_, personOf) => {
  const { page } = await shared.open("/");
  const person = personOf(page);
  await person.press(page.getByRole("button", { name: "What changed in the last hour" }));
  const changes = page.getByRole("region", { name: "Changes of the last hour" });
  await changes.getByText("Rule disabled").waitFor();
  await changes.getByText("stocktake").waitFor();
  await changes.getByText("The forklifts rest").or(changes.getByText("Silence added")).first().waitFor();
  expect(person.clicks).toBeLessThanOrEqual(1);
});
