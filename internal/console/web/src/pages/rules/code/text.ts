import { texts } from "../../../lib/preferences.svelte";

/** The words around the text of a rule and its differences. */
export const t = texts({
  en: {
    same: "The texts are the same.",
    removed: "removed",
    added: "added",
    leftOut: { one: "{count} line without changes", other: "{count} lines without changes" },
  },
  zh: {
    same: "两个文本相同。",
    removed: "删除",
    added: "新增",
    leftOut: "{count} 行没有变化",
  },
});
