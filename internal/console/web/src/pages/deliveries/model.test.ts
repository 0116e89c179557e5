import { expect, test } from "vitest";
import { chosen, words } from "./change";
import {
  canCancel,
  canRetry,
  filterOf,
  healthOf,
  holdOf,
  left,
  narrows,
  queryOf,
  type Delivery,
  type Sink,
} from "./model";
import { countOf } from "./tabs";

const now = Date.parse("2026-06-01T00:00:00Z");
const delivery = (more: Partial<Delivery> = {}): Delivery => ({
  id: 7,
  sink: "gateway",
  state: "pending",
  flag: 0,
  notice: "n_1",
  type: "REP_NOTICE",
  warehouse: "119240",
  status: "firing",
  title: "Bin A-01",
  attempts: 0,
  createdAt: "2026-06-01T00:00:00Z",
  strategy: { kind: "important" },
  ...more,
});
const counts = { pending: 1, sent: 2, failed: 3, timedOut: 4, canceled: 5 };
const sink = (state: "closed" | "open" | "half_open", failures = 0, heldUntil?: string): Sink => ({
  name: "gateway",
  type: "webhook",
  ok: state === "closed",
  deliveries: counts,
  push: {
    breaker: {
      state,
      since: "2026-06-01T00:00:00Z",
      failures,
      ...(state === "open" ? { until: "later" } : {}),
    },
    inFlight: 0,
    waiting: 0,
    ...(heldUntil ? { heldUntil } : {}),
  },
});

test("the address tells the filter, warehouses stay texts, and what is unknown is left out", () => {
  const filter = filterOf(new URLSearchParams("state=failed&warehouse=0119240&sink=&rule= r "));
  expect(queryOf(filter)).toEqual({ state: ["failed"], warehouse: "0119240", rule: "r" });
  expect(queryOf(filterOf(new URLSearchParams("state=lost&held=true")))).toEqual({ held: true });
  expect(narrows(filterOf(new URLSearchParams("delivery=7")))).toBe(false);
});

test("what can be retried and canceled follows from the state", () => {
  expect(canRetry(delivery({ state: "failed" }), now)).toBe(true);
  expect(canRetry(delivery({ state: "sent" }), now)).toBe(false);
  expect(canRetry(delivery({ node: "n1" }), now)).toBe(false);
  const { strategy: _, ...inbox } = delivery();
  expect(canRetry(inbox, now)).toBe(false);
  expect(canRetry(delivery({ state: "failed", expiresAt: "2026-05-31T00:00:00Z" }), now)).toBe(false);
  const old = { state: "canceled", expiresAt: "2026-05-31T00:00:00Z" } as const;
  expect(canRetry(delivery({ ...old, strategy: { kind: "important", until: "sent" } }), now)).toBe(true);
  expect([canCancel(delivery()), canCancel(delivery({ state: "failed" }))]).toEqual([true, false]);
});

test("what holds a delivery back is told, the strongest reason first", () => {
  const at = "2026-06-01T00:01:00Z";
  expect(holdOf(delivery({ behind: true, inFront: 6, heldBy: "s_1" }), [], now)).toEqual({
    why: "behind",
    id: 6,
  });
  expect(holdOf(delivery({ heldBy: "s_1" }), [], now)).toEqual({ why: "silence", id: "s_1" });
  expect(holdOf(delivery(), [], now)).toEqual({ why: "absent" });
  expect(holdOf(delivery(), [sink("open")], now)).toEqual({ why: "breaker", until: "later" });
  expect(holdOf(delivery(), [sink("closed", 0, at)], now)).toEqual({ why: "asked", until: at });
  expect(holdOf(delivery(), [sink("closed", 0, at)], Date.parse(at))).toBeUndefined();
  expect(holdOf(delivery({ node: "n1", behind: true }), [], now)).toBeUndefined();
  expect(holdOf(delivery({ state: "sent" }), [], now)).toBeUndefined();
  expect(holdOf(delivery(), undefined, now)).toBeUndefined();
});

test("how a sink does, in a word", () => {
  expect(healthOf(sink("open"), now)).toBe("open");
  expect(healthOf(sink("half_open"), now)).toBe("half_open");
  expect(healthOf(sink("closed", 0, "2026-06-01T00:01:00Z"), now)).toBe("held");
  expect(healthOf(sink("closed", 2), now)).toBe("failing");
  expect(healthOf(sink("closed"), now)).toBe("ok");
  expect(healthOf({ name: "inbox", type: "inbox", ok: false, deliveries: counts }, now)).toBe("down");
});

test("what has left a list is known down to the last that was read anew", () => {
  const list = (...ids: number[]) => ids.map((id) => delivery({ id }));
  expect(left(list(9, 8, 5, 2), list(10, 9, 5), false)).toEqual([8]);
  expect(left(list(9, 2), list(9), true)).toEqual([2]);
  expect(left(list(9), [], true)).toEqual([9]);
});

test("a filter without a state means what can be changed so", () => {
  const filter = (query: string) => filterOf(new URLSearchParams(query));
  expect(chosen("retry", filter("sink=sms"))).toEqual({ sink: "sms", state: ["failed", "timed_out"] });
  expect(chosen("cancel", filter("sink=sms"))).toEqual({ sink: "sms", state: ["pending"] });
  expect(chosen("retry", filter("held=true"))).toEqual({ state: ["pending"], held: true });
  expect(words(chosen("retry", filter("sink=sms&rule=r")))).toBe("failed or timed out, to sms, of rule r");
  expect(words(chosen("cancel", filter("held=true&warehouse=1")))).toBe("held back, of warehouse 1");
  expect(words(chosen("retry", filter("state=timed_out")))).toBe("timed out");
});

test("states are counted where the sinks can tell", () => {
  const filter = (query: string) => filterOf(new URLSearchParams(query));
  const sinks = [sink("closed"), { ...sink("closed"), name: "sms" }];
  expect(countOf("timed_out", filter(""), sinks)).toBe(8);
  expect(countOf("failed", filter("sink=sms"), sinks)).toBe(3);
  expect(countOf("failed", filter("rule=r"), sinks)).toBeUndefined();
  expect(
    countOf("failed", filter(""), [{ ...sink("closed"), deliveries: { ...counts, failed: 10_000 } }]),
  ).toBeUndefined();
});
