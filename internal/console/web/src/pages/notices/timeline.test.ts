import { expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { silenceOf, timeline, whyOf } from "./timeline";

const at = (minute: number) => new Date(Date.UTC(2026, 5, 1, 8, minute)).toISOString();
const notice = {
  id: "n_1",
  rule: "bins",
  scope: "119240",
  type: "REP",
  warehouse: "119240",
  key: '[119240,"A-01"]',
  createdAt: at(10),
  expiresAt: at(59),
} as Schemas["Notice"];

const trace = {
  notice,
  run: { started: at(10) },
  episodeNotices: [
    { id: "n_3", createdAt: at(40) },
    { id: "n_0", createdAt: at(5) },
  ],
  deliveries: [
    { id: 2, sink: "sms", state: "pending", nextAttempt: at(20) },
    { id: 1, sink: "queue", state: "sent", sentAt: at(11) },
    { id: 3, sink: "mail", state: "canceled" },
  ],
  items: [{ delivery: 1, queue: "queue", id: "n_1", state: "ready" }],
  marks: [{ user: "user:ann", kind: "read", at: at(15), warehouse: "119240" }],
} as unknown as Schemas["NoticeTrace"];

test("everything stands in the order of time, a run before what it made", () => {
  expect(timeline(trace).map((each) => each.id)).toEqual([
    "n_0",
    "run",
    "made",
    "delivery 3",
    "delivery 1",
    `user:ann read ${at(15)}`,
    "delivery 2",
    "n_3",
    "expires",
  ]);
});

test("an item stands with the delivery that it came of", () => {
  const items = timeline(trace).map((each) => (each.kind === "delivery" ? each.item?.id : undefined));
  expect(items.filter((id) => id !== undefined)).toEqual(["n_1"]);
});

test("a notice of a business system has no run", () => {
  const { run: _, ...without } = trace;
  expect(timeline(without).some((each) => each.kind === "run")).toBe(false);
});

test("a silence of a notice is of its finding, or of the rule of many, or of the type where no rule made it", () => {
  const matchers = (change: Partial<typeof notice>) =>
    new URL(silenceOf({ ...notice, ...change }), "http://x").searchParams.getAll("matcher");
  expect(matchers({})).toEqual(["rule=bins", "warehouse=119240", 'key=[119240,"A-01"]']);
  expect(matchers({ scope: "east" })).toEqual([
    "rule=bins",
    "warehouse=119240",
    "scope=east",
    'key=[119240,"A-01"]',
  ]);
  expect(matchers({ key: '"no_data"' })).toContain('key="\\"no_data\\""');
  expect(matchers({ id: "nd_1" })).toEqual(["rule=bins", "warehouse=119240"]);
  expect(matchers({ rule: "", key: "" })).toEqual(["type=REP", "warehouse=119240"]);
});

test("why leads to the finding", () => {
  const url = new URL(whyOf(notice), "http://x");
  expect(url.pathname).toBe("/rules/bins");
  expect(Object.fromEntries(url.searchParams)).toEqual({ tab: "why", scope: "119240", key: notice.key });
});
