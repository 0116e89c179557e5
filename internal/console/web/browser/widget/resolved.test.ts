import { expect, test } from "vitest";
import type { components } from "../../src/api/schema";
import { until } from "../support/until";
import { fixture } from "./fixture";

type Ordered = components["schemas"]["Ordered"];

/** A rule that finds a bin with so many pieces. It runs when it is asked to. */
const rules = (qty: number) => `version: 1
rules:
  - id: negative-bin-stock
    source: wms
    schedule: {cron: "0 3 1 1 *"}
    when: qty < 0
    key: [bin]
    probe: {sql: "SELECT CAST('A-01' AS TEXT) AS bin, CAST(${qty} AS INTEGER) AS qty"}
    notice: {type: REP_NOTICE, warehouse: "'W1'", priority: 5, modal: popup, title: "Bin {{ .bin }}", fields: {bin: bin}, send_resolved: true}
    deliver: [{sink: inbox}]
`;

const shared = fixture({
  rules: { "stock.yaml": rules(-3) },
  files: { "wms.db": "" }, // an empty file is an empty database
  config: 'sinks: {inbox: {type: inbox}}\nsources: {wms: {driver: sqlite, url: "sqlite:wms.db"}}\n',
});

test("what is over closes its popup, is not urgent any more, and stands with what says so", async () => {
  await shared.users("ann");
  const subscription = { type: "REP_NOTICE", warehouse: "W1", subscriber: "user:ann" };
  await shared.server.call("POST", "/api/v1/subscriptions", subscription);
  const widget = await shared.open(await shared.context());
  await widget.says("No unread notices");
  const run = () => shared.server.call<Ordered>("POST", "/api/v1/rules/negative-bin-stock/run");

  await run();
  await widget.popup.getByRole("heading", { name: "Bin A-01" }).waitFor();
  await widget.says("1 unread notice, 1 urgent");
  shared.server.write("rules/stock.yaml", rules(3));
  await until(async () => (await run()).run?.matched === 0, "the bin to be filled");
  await widget.popup.waitFor({ state: "detached" });
  await widget.says("2 unread notices");
  await widget.bell.click();
  await widget.lists("Bin A-01");
  const card = widget.notices.first();
  const resolution = card.locator(".mark", { hasText: /^✓Resolved (now|\d)/ });
  const [inside, around] = [(await resolution.boundingBox())!, (await card.boundingBox())!];
  expect(inside.y).toBeGreaterThan(around.y);
  expect(inside.y + inside.height).toBeLessThan(around.y + around.height);
  expect(await card.getByText("Urgent").count()).toBe(0);
  expect(await widget.notices.getByRole("button", { name: "Acknowledge" }).count()).toBe(0);
  await widget.window.getByRole("button", { name: "Urgent" }).click();
  await widget.page.getByText("No notice matches the filters.").waitFor();
  await widget.page.getByRole("button", { name: "Show all" }).click();
  await card.getByRole("button", { name: "Mark read" }).click(); // both of them
  await widget.says("No unread notices");
});
