import { expect, test } from "vitest";
import type { components } from "../../src/api/schema";
import { axeBoth, consoleFixture, handheld } from "../support/console";
import { until } from "../support/until";
import { Receiver } from "./receiver";

type Schemas = components["schemas"];

const receiver = await Receiver.start();
const shared = consoleFixture({
  config: `sinks:
  inbox: {type: inbox}
${receiver.hook("gateway")}${receiver.hook("carrier", ", breaker: {failures: 1, open: 1h}")}${receiver.hook("slow", ", breaker: {failures: 100, open: 1s}")}${receiver.hook("quiet")}`,
});

interface Delivery {
  id: number;
  sink: string;
  state: string;
  attempts: number;
  lastError?: string;
  heldBy?: string;
}
const list = async (query: string) =>
  (await shared.server.call<{ deliveries: Delivery[] }>("GET", `/api/v1/deliveries?${query}`)).deliveries;
const one = async (query: string, state: string) =>
  until(
    async () => (await list(query)).find((delivery) => delivery.state === state),
    `${query} to be ${state}`,
  );
const send = async (title: string, deliver: Schemas["Deliver"][], warehouse = "119240") =>
  (await shared.server.send({ type: "REP_NOTICE", warehouse, title, data: { bin: "A-01" }, deliver }))[0] ??
  "";

test("what failed is shown with its reason, tried again, and that is undone by canceling it", async () => {
  receiver.answers.set("/gateway", 400);
  const notice = await send("Refused by the gateway", [{ sink: "gateway" }]);
  const failed = await one(`notice=${notice}`, "failed");
  const { page } = await shared.open("/deliveries");
  await page.getByRole("link", { name: "Refused by the gateway" }).waitFor();
  await axeBoth(page);
  await page.getByRole("tab", { name: /^Failed/ }).click();
  expect(page.url()).toContain("state=failed");
  await page
    .getByRole("row", { name: /Refused by the gateway/ })
    .getByText(/400/)
    .waitFor();
  receiver.answers.delete("/gateway");
  await page.getByRole("button", { name: `Try delivery ${failed.id} again` }).click();
  await page.getByText(`Delivery ${failed.id} is tried again`).waitFor();
  await one(`notice=${notice}`, "sent");

  // Undone while it waits for a sink whose breaker is open.
  receiver.answers.set("/carrier", 503);
  await send("The breaker opens", [{ sink: "carrier", strategy: "important" }]);
  await until(async () => (receiver.calls.get("/carrier") ?? 0) > 0, "a call");
  const waiting = await send("Waits for the breaker", [{ sink: "carrier", strategy: "important" }]);
  const pending = await one(`notice=${waiting}`, "pending");
  await shared.server.call("POST", `/api/v1/deliveries/${pending.id}/cancel`, {});
  await page.goto(`${shared.server.address}/deliveries?notice=${waiting}`);
  await page.getByRole("button", { name: `Try delivery ${pending.id} again` }).click();
  await page.getByText("breaker open").first().waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  expect((await one(`notice=${waiting}`, "canceled")).lastError).toBe("the retry was undone");
  await page.getByRole("button", { name: "Sinks", exact: true }).click();
  const carrier = page
    .getByRole("list", { name: "Sinks" })
    .getByRole("listitem")
    .filter({ hasText: "carrier" });
  await carrier.getByText("tries one in").waitFor();
});

test("a pending one is canceled with a reason, and that is undone", async () => {
  receiver.answers.set("/slow", 503);
  const notice = await send("Tried for long", [{ sink: "slow", strategy: "timed", within: "1h" }]);
  const pending = await one(`notice=${notice}`, "pending");
  const { page } = await shared.open(`/deliveries?delivery=${pending.id}`);
  const dialog = page.getByRole("dialog");
  await dialog.getByText("timed: tried for 1h").waitFor();
  const attempts = dialog.getByRole("region", { name: "The last attempts" });
  await attempts.getByText("503", { exact: true }).first().waitFor();
  await attempts.getByText("answered 503 Service Unavailable").first().waitFor();
  await axeBoth(page);
  await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
  await dialog.getByText("The delivery will not reach slow").waitFor();
  await dialog.getByLabel("Reason").fill("told by phone");
  await dialog.locator("footer").getByRole("button", { name: "Cancel" }).last().click();
  await page.getByText(`Delivery ${pending.id} is canceled`).waitFor();
  expect((await one(`notice=${notice}`, "canceled")).lastError).toBe("told by phone");
  await page.getByRole("button", { name: "Undo" }).click();
  await one(`notice=${notice}`, "pending");
});

test("what outlives its notice says so, and its attempts are told in Chinese", async () => {
  receiver.answers.set("/slow", 503);
  const notice = await send("Until it was sent", [{ sink: "slow", strategy: "important", until: "sent" }]);
  const { id } = await one(`notice=${notice}`, "pending");
  await until(async () => ((await list(`notice=${notice}`))[0]?.attempts ?? 0) > 0, "an attempt");
  receiver.answers.delete("/slow");
  await shared.server.call("POST", `/api/v1/deliveries/${id}/retry`, {}).catch(() => undefined);
  await one(`notice=${notice}`, "sent");
  const { page } = await shared.open(`/deliveries?delivery=${id}`, { locale: "zh" });
  const dialog = page.getByRole("dialog");
  await dialog.getByText("重要：一直尝试，直到送达，通知过期后也继续").waitFor();
  const attempts = dialog.getByRole("region", { name: "最近的尝试" });
  await attempts.getByRole("listitem").first().getByText("204", { exact: true }).waitFor();
  await attempts.getByRole("listitem").last().getByText("503", { exact: true }).waitFor();
});

test("what timed out stands under its filter", async () => {
  receiver.answers.set("/slow", 503);
  const notice = await send("Too late", [{ sink: "slow", strategy: "timed", within: "1s" }]);
  await one(`notice=${notice}`, "timed_out");
  const { page } = await shared.open("/deliveries?state=timed_out", { locale: "zh", ...handheld });
  await page.getByRole("tab", { name: /^超时/ }).waitFor();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight)); // what is far below is not drawn
  await page.getByRole("link", { name: "Too late" }).waitFor();
  await expect
    .poll(() => page.getByRole("tab", { name: /^超时/ }).getAttribute("aria-selected"))
    .toBe("true");
  await axeBoth(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
});

test("what a silence holds back is listed as such, with the reason and a way to the silence", async () => {
  await shared.server.call("POST", "/api/v1/silences", {
    matchers: ["warehouse=119999"],
    for: "2h",
    comment: "stocktake",
  });
  const notice = await send("Held by a silence", [{ sink: "quiet", strategy: "important" }], "119999");
  await until(async () => (await list(`notice=${notice}`))[0]?.heldBy, "the silence to hold it back");
  const { page } = await shared.open("/deliveries");
  await page.getByRole("tab", { name: "Held back" }).click();
  const row = page.getByRole("row", { name: /Held by a silence/ });
  expect(await row.getByRole("link", { name: "silenced" }).getAttribute("href")).toBe("/silences");
  await expect.poll(() => page.getByRole("link", { name: "Too late" }).count()).toBe(0);
  expect(receiver.calls.get("/quiet") ?? 0).toBe(0);
});

test("several are changed at once: those selected, and all of a filter, told in words and figures", async () => {
  receiver.answers.set("/gateway", 400);
  const titles = ["Many 1", "Many 2", "Many 3"];
  for (const title of titles) await send(title, [{ sink: "gateway" }], "119777");
  await until(async () => (await list("warehouse=119777&state=failed")).length === 3, "three to fail");
  receiver.answers.delete("/gateway");
  const { page } = await shared.open("/deliveries?warehouse=119777&state=failed");
  const [first] = await list("warehouse=119777&state=failed");
  await page.getByLabel(`Select delivery ${first?.id}`).check();
  await page.getByRole("button", { name: "Try again (1)" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("This cannot be undone.").waitFor();
  await dialog.getByRole("button", { name: "Try again" }).click();
  await page.getByText("1 delivery is tried again").waitFor();
  await until(async () => (await list("warehouse=119777&state=sent")).length === 1, "one to be sent");

  await page.getByRole("button", { name: "Try all again…" }).click();
  await dialog
    .getByText("Every delivery that is failed, of warehouse 119777 is tried again at once: 2 now")
    .waitFor();
  await dialog.getByText("This cannot be undone.").waitFor();
  await dialog.getByRole("button", { name: "Try all again" }).click();
  await page.getByText("2 deliveries are tried again").waitFor();
  await until(async () => (await list("warehouse=119777&state=sent")).length === 3, "all to be sent");
  await page.getByText("No deliveries match these filters").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).last().click();
  await page.getByRole("link", { name: "Many 2" }).waitFor();
});

test("a viewer looks and changes nothing; a server that does not answer is said", async () => {
  const token = await shared.server.token({ subject: "user:eve", access: ["viewer"] });
  const { page, faults } = await shared.open("/deliveries", { token });
  await page.getByRole("link", { name: "Many 1" }).waitFor();
  for (const name of [/^Try/, /^Cancel/]) expect(await page.getByRole("button", { name }).count()).toBe(0);
  await expect.poll(() => page.getByRole("checkbox").count()).toBe(0);
  faults.expect(/net::ERR_FAILED/);
  await page.route(/\/api\/v1\/deliveries\?/, (route) => route.abort());
  await page.getByRole("tab", { name: /^Canceled/ }).click();
  await page
    .getByText(/Out of date|The server cannot be reached/)
    .first()
    .waitFor();
});
