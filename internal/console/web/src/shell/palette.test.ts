import { expect, test } from "vitest";
import { groupsOf, matching, type Target } from "./palette";

const target = (title: string, about = ""): Target => ({
  id: `rule ${title}`,
  href: "/",
  icon: "rules",
  title,
  about,
});
const rules = Array.from({ length: 12 }, (_, i) => target(`rule-${i}`, i === 3 ? "Negative bin stock" : ""));

test("rules are offered once something is written, by id or title, and not too many", () => {
  expect(matching("rules", rules, "").targets).toEqual([]);
  expect(matching("rules", rules, "NEGATIVE").targets.map(({ title }) => title)).toEqual(["rule-3"]);
  const many = matching("rules", rules, "rule");
  expect([many.targets.length, many.more]).toEqual([8, true]);
});

test("pages are all there until something is written", () => {
  expect(matching("pages", rules, "").targets).toHaveLength(12);
  expect(matching("pages", rules, "rule-11").targets).toHaveLength(1);
});

test("what is found leads to its page, whatever its key has in it", () => {
  const at = "2026-06-01T00:00:00Z";
  const notice = { id: "n/1", title: "Bin A-01", warehouse: "119240", status: "firing", createdAt: at };
  const groups = groupsOf(
    {
      notices: [notice] as never,
      findings: [
        {
          rule: "r",
          scope: "119240",
          warehouse: "119240",
          key: '[119240,"A&01"]',
          state: "pending",
          since: at,
        },
      ],
      items: [{ queue: "refill", id: "i 1", state: "ready", priority: 3, createdAt: at }],
      more: ["items"],
    },
    { state: (state) => state, since: () => "now" },
  );
  expect(groups.map(({ id, more }) => [id, more])).toEqual([
    ["findings", false],
    ["notices", false],
    ["items", true],
  ]);
  const [finding, found, item] = groups.map((group) => group.targets[0]);
  expect(finding).toMatchObject({ title: "119240, A&01", about: "r · 119240 · pending · now" });
  expect(new URL(finding?.href ?? "", "http://x").searchParams.get("key")).toBe('[119240,"A&01"]');
  expect(found?.href).toBe("/notices/n%2F1");
  expect(item).toMatchObject({ href: "/queues/refill/items/i%201", title: "i 1", about: "refill · ready" });
});
