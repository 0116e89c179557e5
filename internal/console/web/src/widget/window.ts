import type { Inbox } from "./inbox";
import { list } from "./list";
import { button, icon } from "./parts";
import { h, type Plan } from "./view";

/** The floating window. */
export function floatingWindow(
  inbox: Inbox,
  close: () => void,
  ref: (element: HTMLElement) => () => void,
): Plan {
  const { failure, trouble } = inbox;
  const label = inbox.text("close");
  return h(
    "div",
    { class: "window", part: "window", role: "dialog", "aria-labelledby": "title", tabindex: -1, ref },
    h(
      "header",
      { class: "head", part: "header" },
      h("h2", { id: "title" }, inbox.text("title")),
      h("p", { class: "updated", part: "updated" }, updated(inbox)),
      h(
        "button",
        {
          class: "plain close",
          part: "button",
          type: "button",
          "aria-label": label,
          title: label,
          onclick: close,
        },
        icon(20, "M6 6l12 12M18 6 6 18"),
      ),
    ),
    filters(inbox),
    failure !== "" &&
      h(
        "p",
        { class: "banner bad", part: "failure", role: "alert" },
        h("span", {}, failure),
        button("plain", inbox.text("dismiss"), () => inbox.update({ failure: "" })),
      ),
    trouble &&
      inbox.entries.length > 0 &&
      h(
        "p",
        { class: "banner", part: "trouble", role: "status" },
        h("span", {}, inbox.text(trouble)),
        button("plain", inbox.text("retry"), () => inbox.retry()),
      ),
    ...list(inbox),
    foot(inbox),
  );
}

function updated(inbox: Inbox): string {
  const { heardAt, status } = inbox.health;
  if (!heardAt) {
    return "";
  }
  const key = inbox.trouble ? "notUpdated" : status === "polling" ? "polling" : "updated";
  return inbox.text(key, { when: inbox.ago(heardAt) });
}

function filters(inbox: Inbox): Plan {
  const { filter } = inbox;
  const toggle = (name: "unread" | "urgent", label: string) =>
    button("chip", label, () => inbox.update({ filter: { ...filter, [name]: !filter[name] } }), {
      part: "filter",
      "aria-pressed": String(filter[name]),
    });
  const onchange = (event: Event) =>
    inbox.update({ filter: { ...inbox.filter, type: (event.target as HTMLSelectElement).value } });
  return h(
    "div",
    { class: "filters", part: "filters", role: "group", "aria-label": inbox.text("filters") },
    toggle("unread", inbox.text("onlyUnread")),
    toggle("urgent", inbox.text("onlyUrgent")),
    h(
      "select",
      { class: "chip", part: "filter", "aria-label": inbox.text("type"), value: filter.type, onchange },
      h("option", { value: "" }, inbox.text("allTypes")),
      inbox.typesHere().map(([code, name]) => h("option", { key: code, value: code }, name)),
    ),
  );
}

/** Marking everything has no undo, so it asks, in its place. */
function foot(inbox: Inbox): Plan | false {
  const { count, asking } = inbox;
  if (count.unread === 0) {
    return false;
  }
  const end = () => inbox.update({ asking: false });
  return h(
    "footer",
    { class: "foot", part: "footer" },
    ...(asking
      ? [
          h(
            "p",
            { role: "alert" },
            inbox.text(count.more ? "confirmMany" : "confirmAll", { count: count.unread }),
          ),
          button("main", inbox.text("confirm"), () => (end(), inbox.readAll()), {
            key: "yes",
            ref: (element) => element.focus(),
          }),
          button("plain", inbox.text("cancel"), end, { key: "no" }),
        ]
      : [button("plain", inbox.text("markAll"), () => inbox.update({ asking: true }))]),
  );
}
