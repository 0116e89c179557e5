import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

// The words that docs/glossary.md rules out are looked for by docs/glossary_test.go.

test("priorities are numbers", () => {
  const words = readFileSync(join(import.meta.dirname, "../ui/text.ts"), "utf8");
  expect(words).toContain(`priority: "Priority {priority}"`);
  expect(words).toContain(`priority: "优先级 {priority}"`);
});
