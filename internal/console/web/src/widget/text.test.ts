import { expect, test } from "vitest";
import { acceptLanguage, bellLabel, localeOf, text } from "./text";

test("the bell's words, in every number", () => {
  const says = (unread: number, urgent = 0, more = false) => bellLabel("en", { unread, urgent, more });
  expect(says(0)).toBe("No unread notices");
  expect(says(1)).toBe("1 unread notice");
  expect(says(3, 1)).toBe("3 unread notices, 1 urgent");
  expect(says(999, 12, true)).toBe("More than 999 unread notices, 12 urgent");
  expect(bellLabel("zh", { unread: 3, urgent: 1, more: false })).toBe("3 条未读通知，其中 1 条紧急");
});

test("Chinese pages get Chinese, all others English", () => {
  expect(["zh", "zh-CN", "zh-Hant-TW", "ZH", "en-GB", "de", "zha", ""].map(localeOf)).toEqual([
    "zh",
    "zh",
    "zh",
    "zh",
    "en",
    "en",
    "en",
    "en",
  ]);
});

test("notices are asked for in the page's own language first", () => {
  expect(acceptLanguage("de-AT")).toBe("de-AT, en;q=0.9");
  expect(acceptLanguage("zh-TW")).toBe("zh-TW, zh;q=0.9");
  expect(acceptLanguage("en")).toBe("en");
  expect(acceptLanguage("x\ny")).toBe("en"); // no header may have that
});

test("marking everything says that there is no undo", () => {
  expect(text("en", "confirmAll", { count: 2 })).toContain("no undo");
  expect(text("zh", "confirmAll", { count: 2 })).toContain("无法撤销");
});
