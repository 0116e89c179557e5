import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const top = join(import.meta.dirname, "..");

/** What the glossary has another word for: the same thing is called the same on every page, in the widget and in the docs. */
const instead: Readonly<Record<string, string>> = {
  断路器: "熔断器",
  接收端: "投递渠道",
  租用: "处理中",
  失效: "死信，或已结束、已过期",
  警报: "发现项或通知",
  告警: "发现项或通知",
  报警: "发现项或通知",
  消息: "通知，或内容",
  操作员: "运维人员",
  已解决: "已解除",
  '"已恢复"': "已解除",
  同一问题: "同一发现项",
};

/** Lines with Chinese in them, of texts and of rules and types that come along. */
function lines(): { where: string; text: string }[] {
  const own = readdirSync(top, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(ts|svelte)$/.test(name) && !/\.test\.ts$|schema\.d\.ts$/.test(name))
    .map((name) => ({ name, text: readFileSync(join(top, name), "utf8") }));
  return own.flatMap(({ name, text }) =>
    text
      .split("\n")
      .map((line, i) => ({ where: `${name}:${i + 1}`, text: line }))
      .filter((line) => /\p{Script=Han}/u.test(line.text)),
  );
}

const all = lines();

test("there are Chinese texts to look at", () => {
  expect(all.length).toBeGreaterThan(1_400);
});

test.each(Object.entries(instead))("no text says %s", (word) => {
  expect(
    all.filter(({ text }) => text.includes(word)).map(({ where, text }) => `${where}: ${text.trim()}`),
  ).toEqual([]);
});

test("priorities are numbers", () => {
  const words = readFileSync(join(top, "ui/text.ts"), "utf8");
  expect(words).toContain(`priority: "Priority {priority}"`);
  expect(words).toContain(`priority: "优先级 {priority}"`);
});
