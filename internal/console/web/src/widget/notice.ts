import { type ComponentChild, h } from "preact";
import type { Inbox } from "./inbox";
import { button, marks, origin } from "./parts";
import type { Entry } from "./store";

/** A notice of the feed. Only the current one is on the way of the Tab key; j and k lead to the others. */
export function notice(inbox: Inbox, entry: Entry, index: number, size: number): ComponentChild {
  const { id, title, body, data, status } = entry.notice;
  const read = inbox.isRead(entry);
  const expanded = inbox.isExpanded(entry);
  const tabindex = (inbox.current ? inbox.current === id : index === 0) ? 0 : -1;
  const toAck = inbox.needsAck(entry);
  const over = entry.resolved || status === "resolved";
  return h(
    "article",
    {
      key: id,
      class: `notice${read ? "" : " unread"}${over ? " over" : ""}`,
      part: read ? "notice" : "notice unread",
      tabindex,
      "aria-posinset": index + 1,
      "aria-setsize": size,
      "aria-labelledby": `t-${id}`,
      "aria-describedby": `m-${id} b-${id}`,
      onFocusIn: () => inbox.current !== id && inbox.update({ current: id }),
    },
    origin(inbox, entry),
    h(
      "h3",
      { id: `t-${id}` },
      button("title", title, () => inbox.choose(entry), {
        part: "title",
        tabindex,
        "aria-expanded": expanded,
      }),
    ),
    marks(inbox, entry, `m-${id}`),
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
    (toAck || !read) &&
      h(
        "p",
        { class: toAck ? "acts due" : "acts" },
        toAck &&
          button("main", inbox.text("acknowledge"), () => inbox.mark(entry, "acked"), {
            key: "ack",
            tabindex,
          }),
        !read &&
          button("plain", inbox.text("markRead"), () => inbox.mark(entry, "read"), { key: "read", tabindex }),
      ),
  );
}
