import { expect, test } from "vitest";
import { dictionary, format } from "./text";

const words = dictionary({
  en: { items: { one: "{count} item", other: "{count} items" }, hello: "Hello {name}" },
  zh: { items: "{count} 项", hello: "你好，{name}" },
});

test("plural forms follow the language", () => {
  expect(format(words, "en", "items", { count: 1 })).toBe("1 item");
  expect(format(words, "en", "items", { count: 12345 })).toBe("12,345 items");
  expect(format(words, "zh", "items", { count: 1 })).toBe("1 项");
});

test("values are filled in as they are, whatever they look like", () => {
  expect(format(words, "en", "hello", { name: "$& {name}" })).toBe("Hello $& {name}");
});

test("a value that is missing stays visible", () => {
  expect(format(words, "zh", "hello")).toBe("你好，{name}");
});
