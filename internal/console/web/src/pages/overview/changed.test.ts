import { expect, test } from "vitest";
import type { Schemas } from "../../api/client";
import { changed } from "./changed";

const change = {
  id: 7,
  at: "2026-06-01T00:10:00Z",
  by: "user:ann",
  action: "rule.disable",
  object: "rule:a",
  reason: "stocktake",
};

test("changes and failed runs stand in the order of time; what fails alike is told once", () => {
  const list = changed(
    [
      { rule: "a", scope: "119240", due: "2026-06-01T00:20:00Z", error: "probe_timeout" },
      { rule: "a", scope: "119240", due: "2026-06-01T00:15:00Z", error: "probe_timeout" },
      { rule: "a", due: "2026-06-01T00:05:00Z", error: "probe_timeout" },
    ],
    [change as Schemas["AuditChange"]],
  );
  expect(list.map(({ at, object, note }) => [at.slice(11, 16), object, note])).toEqual([
    ["00:20", "a · 119240", "probe_timeout"],
    ["00:10", "rule:a", "user:ann: stocktake"],
    ["00:05", "a", "probe_timeout"],
  ]);
});
