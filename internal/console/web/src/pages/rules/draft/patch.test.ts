import { applyPatch } from "diff";
import { expect, test } from "vitest";
import { patchOf } from "./patch";

const file = ["version: 1", "rules:", "  - id: a", "    when: n > 0", "  - id: b", ""].join("\n");

test("a patch names the file and has the lines around a change", () => {
  const after = file.replace("n > 0", "n > 5");
  const patch = patchOf("stock.yaml", file, after);
  expect(patch).toBe(
    [
      "--- a/stock.yaml",
      "+++ b/stock.yaml",
      "@@ -1,5 +1,5 @@",
      " version: 1",
      " rules:",
      "   - id: a",
      "-    when: n > 0",
      "+    when: n > 5",
      "   - id: b",
      "",
    ].join("\n"),
  );
  expect(applyPatch(file, patch)).toBe(after);
});

test("a file without an end of its last line is patched as it is", () => {
  const bare = file.trimEnd();
  expect(applyPatch(bare, patchOf("stock.yaml", bare, `${bare}\n    when: n > 1`))).toBe(
    `${bare}\n    when: n > 1`,
  );
});
