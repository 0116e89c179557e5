import { afterEach, beforeEach, expect, test } from "vitest";
import type { Schemas } from "../../../api/client";
import { absolute } from "../../../lib/moment";
import { preferences } from "../../../lib/preferences.svelte";
import { wordsOf } from "./held";

const at = "2026-06-01T08:10:00Z";
const until = "2026-06-01T18:00:00Z";
const held = (code: string, facts: Schemas["Held"]["facts"] = {}) => ({
  code,
  text: "as the server has it",
  facts,
});
const full = (moment: string) => absolute(preferences.locale, Date.parse(moment));

beforeEach(() => preferences.setLocale("en"));
afterEach(() => preferences.setLocale("en"));

test("a reason says who, why, and until when in the reader's zone", () => {
  const by = { by: "user:ann", reason: "stocktake", until };
  expect(wordsOf(held("disabled", by))).toBe(
    `user:ann has disabled the rule: it does not run, and its findings stay as they are. Reason: stocktake. This ends ${full(until)}.`,
  );
  preferences.setLocale("zh");
  expect(wordsOf(held("disabled", by))).toBe(
    `user:ann 已停用此规则：规则不运行，发现项保持原样。原因：stocktake。将于 ${full(until)} 结束。`,
  );
  expect(wordsOf(held("disabled"))).toContain("规则文件已停用此规则");
});

test("times are those of the warehouse where it is known", () => {
  const shanghai = absolute("en", Date.parse(until), "Asia/Shanghai");
  expect(wordsOf(held("disabled", { by: "user:ann", until }), "Asia/Shanghai")).toContain(shanghai);
  expect(shanghai).not.toBe(full(until));
});

test("what was told says when it is told again", () => {
  const news = { columns: ["qty"], joins: true, rises: true, priority: 3 };
  expect(wordsOf(held("repeat", { at, askedMs: 3_600_000, ...news }))).toBe(
    `The last notice was made at ${full(at)}. The next notice follows after 1 hr. ` +
      "The next notice follows when qty changes or another finding joins its group or its priority rises above 3.",
  );
  preferences.setLocale("zh");
  expect(wordsOf(held("repeat", { at, priority: 5 }))).toBe(
    `已于 ${full(at)} 通知。不会再次通知：规则没有设置 repeat_interval。`,
  );
  expect(wordsOf(held("for", { seenMs: 120_000, askedMs: 600_000 }))).toBe(
    "规则要求持续 10分钟（for），目前已持续 2分钟。",
  );
});

test("a delivery says when it is tried, and how many wait alike", () => {
  expect(wordsOf(held("push_retry", { sink: "sms", attempts: 1, error: "503", at, until, count: 2 }))).toBe(
    `The delivery to sms has failed 1 time: 503. The next attempt is at ${full(at)}. The deadline is ${full(until)}. 2 more deliveries to sms wait in the same way.`,
  );
  expect(wordsOf(held("push_delayed", { sink: "sms", at, unless: "read" }))).toBe(
    `The delivery to sms goes out at ${full(at)}. The delivery is canceled if somebody reads the notice first.`,
  );
});

test("a code of a later server is told as the server does", () => {
  expect(wordsOf(held("moon_phase"))).toBe("as the server has it");
});
