import { type ComponentChild, type ComponentProps, h } from "preact";
import type { Inbox } from "./inbox";
import type { Entry } from "./store";

/** A button. kind: main is what one would do, plain what one may do. */
export function button(
  kind: string,
  label: string,
  onClick: (event: MouseEvent) => unknown,
  more: ComponentProps<"button"> = {},
): ComponentChild {
  return h("button", { class: kind, part: "button", type: "button", onClick, ...more }, label);
}

/** A drawing of one line. */
export function icon(size: number, ...paths: string[]): ComponentChild {
  return h(
    "svg",
    { viewBox: "0 0 24 24", width: size, height: size, class: "icon", "aria-hidden": true },
    ...paths.map((d) => h("path", { d })),
  );
}

/** What a notice is about: type, warehouse, time. */
export function origin(inbox: Inbox, { notice }: Entry): ComponentChild {
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
export function marks(inbox: Inbox, entry: Entry, id: string, inPopup = false): ComponentChild {
  const { priority, count, status } = entry.notice;
  const mark = (when: boolean, kind: string, sign: string, label: string) =>
    when && h("span", { class: `mark ${kind}` }, h("b", { "aria-hidden": true }, sign), label);
  return h(
    "p",
    { id, class: "marks", part: "marks" },
    mark(!inPopup && !inbox.isRead(entry), "new", "●", inbox.text("unread")),
    mark(priority === 5, "bad", "!!", inbox.text("urgent5")),
    mark(priority === 4, "warn", "!", inbox.text("urgent4")),
    mark(entry.resolved || status === "resolved", "good", "✓", inbox.text("resolved")),
    mark(count > 1, "", "≡", inbox.text("findings", { count })),
    mark(!inPopup && inbox.needsAck(entry), "", "⚑", inbox.text("needsAck")),
    mark(inbox.isAcked(entry), "good", "✓", inbox.text("acked")),
  );
}
