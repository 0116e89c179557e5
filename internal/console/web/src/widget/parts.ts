import { type ComponentChild, type ComponentProps, h } from "preact";
import type { Inbox } from "./inbox";
import type { Entry } from "./store";

/** A button. kind: main for the expected action, plain for another one. */
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

/** The type of a notice, by its name. */
export function typeOf(inbox: Inbox, { notice }: Entry): ComponentChild {
  return h("span", {}, inbox.typeName(notice.type));
}

/** When a notice came. */
export function moment(inbox: Inbox, { notice }: Entry, id?: string): ComponentChild {
  const { createTime, createdAt } = notice;
  return h("time", { id, datetime: createdAt, title: inbox.fullTime(createTime) }, inbox.ago(createTime));
}

/**
 * The state of a notice as marks with a sign and a word each, never by colour alone. A notice whose finding is over is
 * not urgent.
 */
export function marks(inbox: Inbox, entry: Entry): ComponentChild[] {
  const { priority, count, status, createTime } = entry.notice;
  const over = inbox.isOver(entry);
  const mark = (when: boolean, kind: string, sign: string, label: string) =>
    when && h("span", { class: `mark ${kind}` }, h("b", { "aria-hidden": true }, sign), label);
  const resolved =
    status === "resolved"
      ? inbox.text("resolvedAt", { when: inbox.ago(createTime) })
      : inbox.text("resolved");
  return [
    mark(!over && priority === 5, "bad", "!!", inbox.text("urgent5")),
    mark(!over && priority === 4, "warn", "!", inbox.text("urgent4")),
    mark(over, "good", "✓", resolved),
    mark(count > 1, "", "≡", inbox.text("findings", { count })),
    mark(inbox.isAcked(entry), "good", "✓", inbox.text("acked")),
  ];
}
