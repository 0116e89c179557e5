import { texts } from "../../lib/preferences.svelte";

export const t = texts({
  en: {
    chart: "{label}: the arrow keys move through time, Enter opens the list behind a value",
    between: ", ",
    colon: ": ",
    unknown: "not known",
    openList: "Open the list",
    table: "As a table",
    tableOf: "{label}, as a table",
    time: "Time",
  },
  zh: {
    chart: "{label}：方向键移动时间，回车键打开数值对应的列表",
    between: "，",
    colon: "：",
    unknown: "未知",
    openList: "打开列表",
    table: "以表格显示",
    tableOf: "{label}（表格）",
    time: "时间",
  },
});
