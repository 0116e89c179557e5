import { expect, test } from "vitest";
import { parentOf, trail } from "./trail";

test.each([
  ["/", undefined],
  ["/rules", undefined],
  ["/nowhere/at/all", undefined],
  ["/rules/negative-bin-stock", "/rules"],
  ["/notices/n_1", "/notices"],
  ["/queues/replenishment", "/queues"],
  ["/queues/refill%20one/items/i_1", "/queues/refill%20one"],
])("above %s is %s", (path, above) => {
  expect(parentOf(path)?.href).toBe(above);
});

test("the way back leads to the list as it was left", () => {
  const none = new URLSearchParams();
  expect(trail.back("/notices/n_1", none)?.href).toBe("/notices");
  trail.see("/notices", new URLSearchParams("type=LOT&q=A-01"));
  trail.see("/notices/n_1", none);
  expect(trail.back("/notices/n_1", none)?.href).toBe("/notices?type=LOT&q=A-01");
  expect(trail.back("/queues/refill/items/i_1", new URLSearchParams("test=true"))).toEqual({
    href: "/queues/refill?test=true",
    title: { name: "refill" },
  });
});
