import type { Inbox } from "./inbox";
import type { Entry } from "./store";
import { h, type Plan, type Props } from "./view";

/** A button. kind: main is what one would do, plain what one may do. */
export function button(kind: string, label: string, onclick: () => unknown, more: Props = {}): Plan {
  return h("button", { class: kind, part: "button", type: "button", onclick, ...more }, label);
}

/** A drawing of one line. */
export function icon(size: number, ...paths: string[]): Plan {
  const props = { viewBox: "0 0 24 24", width: size, height: size, class: "icon", "aria-hidden": "true" };
  return h("svg", props, ...paths.map((d) => h("path", { d })));
}

/** What a notice is about: type, warehouse, time. */
export function origin(inbox: Inbox, { notice }: Entry): Plan {
  const { createTime, createdAt, type, warehouse } = notice;
  return h(
    "p",
    { class: "origin" },
    h("span", { title: inbox.typeName(type) }, inbox.typeName(type)),
    h("span", {}, inbox.text("warehouse", { name: warehouse })),
    h("time", { datetime: createdAt, title: inbox.fullTime(createTime) }, inbox.ago(createTime)),
  );
}

/** How a notice stands: marks with a sign and a word each, never by colour alone. A popup need not say that it is one. */
export function marks(inbox: Inbox, entry: Entry, id: string, inPopup = false): Plan {
  const { priority, count, status } = entry.notice;
  const mark = (when: boolean, kind: string, sign: string, label: string) =>
    when && h("span", { class: `mark ${kind}` }, h("b", { "aria-hidden": "true" }, sign), label);
  return h(
    "p",
    { id, class: "marks", part: "marks" },
    mark(!inPopup && !inbox.isRead(entry), "new", "●", inbox.text("unread")),
    mark(priority === 5, "bad", "!!", inbox.text("urgent5")),
    mark(priority === 4, "warn", "!", inbox.text("urgent4")),
    mark(entry.resolved || status === "resolved", "good", "✓", inbox.text("resolved")),
    mark(count > 1, "", "≡", inbox.text("findings", { count })),
    mark(!inPopup && needsAck(inbox, entry), "", "⚑", inbox.text("needsAck")),
    mark(inbox.isAcked(entry), "good", "✓", inbox.text("acked")),
  );
}

/** It is a popup that nobody has acked, and not over. */
export function needsAck(inbox: Inbox, entry: Entry): boolean {
  const { modal, status } = entry.notice;
  return modal === "popup" && status !== "resolved" && !entry.resolved && !inbox.isAcked(entry);
}
