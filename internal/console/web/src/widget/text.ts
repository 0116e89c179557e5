import { dictionary, format, type Locale, type Values } from "../lib/text";

/** The words of the widget, in every language that it has. */
const words = dictionary({
  en: {
    bellNone: "No unread notices",
    bellUnread: { one: "{count} unread notice", other: "{count} unread notices" },
    bellMany: "More than {count} unread notices",
    bellUrgent: "{unread}, {urgent} urgent",
    title: "Notices",
    close: "Close",
    updated: "Updated {when}",
    notUpdated: "Not up to date since {when}",
    polling: "Updated {when}, by regular polling",
    arrivedOne: "New notice: {title}",
    arrivedMany: { one: "{count} new notice", other: "{count} new notices" },
    pill: { one: "{count} new notice", other: "{count} new notices" },
    filters: "Filters",
    onlyUnread: "Unread",
    onlyUrgent: "Urgent",
    type: "Type",
    allTypes: "All types",
    clear: "Show all",
    loading: "Loading notices …",
    empty: "No notices. New notices appear here.",
    filtered: "No notice matches the filters.",
    offline: "This device is offline. Notices come again when the device is online.",
    blocked:
      "The notice server cannot be reached. It may be down, or this page may not be allowed to call it.",
    unauthorised: "You are not signed in to the notice server. Sign in again.",
    forbidden: "You may not see these notices.",
    error: "The notice server has answered with an error. It is asked again soon.",
    retry: "Try again",
    unread: "Unread",
    urgent4: "Urgent",
    urgent5: "Very urgent",
    resolved: "Resolved",
    resolvedAt: "Resolved {when}",
    acked: "Acknowledged",
    findings: { one: "{count} finding", other: "{count} findings" },
    warehouse: "Warehouse {name}",
    markRead: "Mark read",
    acknowledge: "Acknowledge",
    later: "Later",
    waiting: { one: "{count} more is waiting", other: "{count} more are waiting" },
    markAll: "Mark all read",
    confirmAll: {
      one: "Mark {count} notice read? There is no undo.",
      other: "Mark {count} notices read? There is no undo.",
    },
    confirmMany: "Mark more than {count} notices read? There is no undo.",
    confirm: "Mark read",
    cancel: "Cancel",
    older: "Show older",
    searching: "Looking for older notices …",
    readFailed: "Not marked as read: {why}",
    ackFailed: "Not acknowledged: {why}",
    olderFailed: "Older notices did not load: {why}",
    dismiss: "Dismiss",
    noAnswer: "there was no answer",
  },
  zh: {
    bellNone: "没有未读通知",
    bellUnread: "{count} 条未读通知",
    bellMany: "超过 {count} 条未读通知",
    bellUrgent: "{unread}，其中 {urgent} 条紧急",
    title: "通知",
    close: "关闭",
    updated: "更新时间：{when}",
    notUpdated: "上次更新：{when}",
    polling: "更新时间：{when}（定时查询）",
    arrivedOne: "新通知：{title}",
    arrivedMany: "{count} 条新通知",
    pill: "{count} 条新通知",
    filters: "筛选",
    onlyUnread: "未读",
    onlyUrgent: "紧急",
    type: "类型",
    allTypes: "全部类型",
    clear: "显示全部",
    loading: "正在加载通知…",
    empty: "暂无通知，新通知会显示在这里。",
    filtered: "没有符合筛选条件的通知。",
    offline: "设备已离线，联网后会继续接收通知。",
    blocked: "无法连接通知服务器：服务器可能已停止，或不允许此页面访问。一直如此时，请联系管理员。",
    unauthorised: "您尚未登录通知服务器，或登录已过期。请重新登录。",
    forbidden: "您无权查看这些通知，请联系管理员。",
    error: "通知服务器返回错误，稍后会自动重试。",
    retry: "重试",
    unread: "未读",
    urgent4: "紧急",
    urgent5: "非常紧急",
    resolved: "已解除",
    resolvedAt: "已解除：{when}",
    acked: "已确认",
    findings: "{count} 个发现项",
    warehouse: "仓库 {name}",
    markRead: "标为已读",
    acknowledge: "确认",
    later: "稍后",
    waiting: "还有 {count} 条待确认",
    markAll: "全部标为已读",
    confirmAll: "将 {count} 条通知标为已读？此操作无法撤销。",
    confirmMany: "将超过 {count} 条通知标为已读？此操作无法撤销。",
    confirm: "标为已读",
    cancel: "取消",
    older: "显示更早的通知",
    searching: "正在查找更早的通知…",
    readFailed: "未能标为已读：{why}",
    ackFailed: "未能确认：{why}",
    olderFailed: "未能加载更早的通知：{why}",
    dismiss: "知道了",
    noAnswer: "服务器没有应答",
  },
});

export type Key = keyof (typeof words)["en"];

/** Returns the text of a key in a language. */
export function text(locale: Locale, key: Key, values?: Values): string {
  return format(words, locale, key, values);
}

/** Returns the language for a page's language tag: Chinese, or else English. */
export function localeOf(tag: string): Locale {
  return /^zh\b/i.test(tag) ? "zh" : "en";
}

/** Returns the Accept-Language of requests: the page's language, which notices may have even if the widget does not. */
export function acceptLanguage(tag: string): string {
  const locale = localeOf(tag);
  return /^[\w-]+$/.test(tag) && tag !== locale ? `${tag}, ${locale};q=0.9` : locale;
}

/** Returns the label of the bell: "3 unread notices, 1 urgent". */
export function bellLabel(locale: Locale, count: { unread: number; more: boolean; urgent: number }): string {
  if (count.unread === 0) {
    return text(locale, "bellNone");
  }
  const unread = text(locale, count.more ? "bellMany" : "bellUnread", { count: count.unread });
  return count.urgent > 0 ? text(locale, "bellUrgent", { unread, urgent: count.urgent }) : unread;
}
