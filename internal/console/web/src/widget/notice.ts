import { type ComponentChild, h } from "preact";
import { type Card, noticesOf } from "./cards";
import type { Inbox } from "./inbox";
import { button, icon, marks, moment, typeOf } from "./parts";

/** A card of the feed. The Tab key stops at the current card only; j and k lead to the others. */
export function notice(
  inbox: Inbox,
  card: Card,
  index: number,
  size: number,
  isCurrent: boolean,
): ComponentChild {
  const { entry } = card;
  const { id, body, data } = entry.notice;
  const first = noticesOf(card)[1] ?? entry; // the notice that a resolution resolves has the title without "Resolved:"
  const read = inbox.isRead(card);
  const expanded = inbox.isExpanded(card);
  const due = inbox.needsAck(entry);
  const tabindex = isCurrent ? 0 : -1;
  return h(
    "article",
    {
      key: id,
      class: `notice${inbox.isOver(entry) ? " over" : ""}${due ? " due" : ""}`,
      part: read ? "notice" : "notice unread",
      tabindex,
      "aria-posinset": index + 1,
      "aria-setsize": size,
      "aria-labelledby": `t-${id}`,
      "aria-describedby": `m-${id} w-${id} b-${id}`,
      onFocusIn: () => inbox.current !== id && inbox.update({ current: id }),
    },
    h(
      "h3",
      { id: `t-${id}` },
      button("title", first.notice.title, () => inbox.choose(card), {
        part: "title",
        tabindex,
        "aria-expanded": expanded,
      }),
    ),
    moment(inbox, first, `w-${id}`),
    h(
      "p",
      { id: `m-${id}`, class: "marks", part: "marks" },
      !read && h("span", { class: "hidden" }, inbox.text("unread")),
      marks(inbox, entry),
      typeOf(inbox, entry),
    ),
    h("p", { id: `b-${id}`, class: expanded ? "body" : "body short", part: "body" }, body),
    expanded &&
      Object.keys(data).length > 0 &&
      h(
        "dl",
        {},
        Object.entries(data).map(([name, value]) =>
          h("div", { key: name }, h("dt", {}, name), h("dd", {}, String(value ?? "–"))),
        ),
      ),
    due && button("main", inbox.text("acknowledge"), () => inbox.ack(entry), { key: "ack", tabindex }),
    !read && dot(inbox, card, tabindex),
  );
}

/** Says that a notice is unread, and marks it read. */
function dot(inbox: Inbox, card: Card, tabindex: number): ComponentChild {
  const label = inbox.text("markRead");
  return h(
    "button",
    {
      key: "read",
      class: "dot",
      part: "button",
      type: "button",
      tabindex,
      "aria-label": label,
      title: label,
      onClick: () => inbox.read(card),
    },
    icon(20, "M5 12.500l4.500 4.500L19 7.500"),
  );
}
