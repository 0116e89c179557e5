import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const top = join(import.meta.dirname, "..");

/** The styles of the console's components, and of every page, line by line. The widget has its own. */
function declarations(): { where: string; name: string; value: string }[] {
  return readdirSync(top, { recursive: true, encoding: "utf8" })
    .filter(
      (name) => /\.(svelte|css)$/.test(name) && !name.startsWith("widget") && !name.endsWith("tokens.css"),
    )
    .flatMap((name) => {
      const text = readFileSync(join(top, name), "utf8");
      const style = name.endsWith(".css") ? text : (/<style>([^]*)<\/style>/.exec(text)?.[1] ?? "");
      return [...style.replace(/\/\*[^]*?\*\//g, "").matchAll(/([a-z-]+):\s*([^;{}]+);/g)].map((found) => ({
        where: name,
        name: found[1] ?? "",
        value: (found[2] ?? "").replace(/\s+/g, " ").trim(),
      }));
    });
}

const all = declarations();
const wrong = (names: RegExp, allowed: RegExp) =>
  all
    .filter((each) => names.test(each.name) && !allowed.test(each.value))
    .map((each) => `${each.where}: ${each.name}: ${each.value}`);

const step = String.raw`(-?0|-?1px|auto|env\([^)]*\)|var\(--(space-\d|control|row|topbar)\)|calc\([^;]*var\(--[^;]*\))`;

test("there are styles to look at", () => {
  expect(all.length).toBeGreaterThan(1_000);
});

test("room between and within elements has a step of the scale", () => {
  expect(
    wrong(/^(padding|margin|gap|row-gap|column-gap)(-.*)?$/, new RegExp(`^${step}( ${step})*$`)),
  ).toEqual([]);
});

test("type has a size of the scale, and three weights", () => {
  expect(wrong(/^font-size$/, /^(var\(--text(-\w+)?\)|inherit|0\.95em)$/)).toEqual([]);
  expect(wrong(/^font-weight$/, /^(400|500|600|inherit)$/)).toEqual([]);
});

test("colours are named by what they are for, so that both schemes have them", () => {
  const colour = /#[0-9a-f]{3,8}\b|\brgba?\(|\bhsla?\(|\b(white|black)\b/i;
  const found = all.filter(({ name, value }) => !name.startsWith("--") && colour.test(value));
  expect(found.map((each) => `${each.where}: ${each.name}: ${each.value}`)).toEqual([]);
});
